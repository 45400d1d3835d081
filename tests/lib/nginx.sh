# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# nginx as a real server of recorded sessions. Sourced after func.sh.

# nginx_config NAME ADDRESS PORT: print a configuration whose server at PORT answers, that at PORT + 1 tells its version, too, and that
# at PORT + 2 resets. NAME.txt gets a line per request. It is patient: it gives up no client on a busy host, such as one that pauses for
# 5 s in an upload that has been answered (lingering_timeout).
nginx_config() {
	cat <<-END
		daemon off;
		master_process off;
		pid $1.pid;
		error_log stderr;
		events { worker_connections 8192; }
		http {
			client_body_temp_path $1.temp;
			proxy_temp_path $1.temp;
			fastcgi_temp_path $1.temp;
			uwsgi_temp_path $1.temp;
			scgi_temp_path $1.temp;
			log_format asked '\$server_port "\$request" \$status \$body_bytes_sent \$request_length';
			access_log $1.txt asked;
			default_type text/html;
			gzip on;
			if_modified_since before;
			log_not_found off;
			keepalive_timeout 600s;
			client_header_timeout 600s;
			client_body_timeout 600s;
			lingering_time 600s;
			lingering_timeout 600s;
			send_timeout 600s;
			server_tokens off;
			root www;
			server {
				listen $2:$3 backlog=4096;
				location /upload { return 200 "taken\n"; }
			}
			server {
				listen $2:$(($3 + 1)) backlog=4096;
				server_tokens on;
				location /upload { return 200 "taken\n"; }
			}
			server {
				listen $2:$(($3 + 2)) backlog=4096;
				reset_timedout_connection on;
				return 444;
			}
		}
	END
}

nginx_listens() {
	[[ -n $(ip netns exec "$1" ss -Hltn "sport = :$2") ]]
}

# nginx_start NAMESPACE NAME ADDRESS PORT: start it; nginx_pid is its process.
nginx_start() {
	nginx_config "${@:2}" >"$2.conf"
	ip netns exec "$1" nginx -p "$PWD" -c "$2.conf" -e stderr 2>"$2.log" <&0 &
	nginx_pid=$!
	wait_for 30 nginx_listens "$1" $(($4 + 2)) || func_die "nginx does not listen"
}
