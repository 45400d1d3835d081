# SPDX-License-Identifier: BSD-3-Clause
# Draw latency distributions over one logarithmic axis. Input: for each system a file NAME.csv with a column latency_ns, as
# written by tapline client --csv. -v html=1: a page with an SVG, else text.

function bin_of(ns) { return int(log(ns) / log(2) * per_octave) }

function in_us(ns) { return ns < 1e4 ? sprintf("%.1f us", ns / 1e3) : ns < 1e6 ? sprintf("%.0f us", ns / 1e3) : sprintf("%.1f ms", ns / 1e6) }

function lower_of(bin) { return exp(bin / per_octave * log(2)) }

function text_axis(   bin, line, label) {
	line = sprintf("%-24s ", "")
	for (bin = first; bin <= last; bin += 3 * per_octave) {
		label = in_us(lower_of(bin))
		line = line sprintf("%-" 3 * per_octave "s", "|" label)
	}
	print line
}

function text(   s, bin, line, level) {
	for (s = 1; s <= systems; s++) {
		line = sprintf("%-24s ", name[s])
		for (bin = first; bin <= last; bin++) {
			level = count[s, bin] == 0 ? 0 : 1 + int(8 * sqrt(count[s, bin] / most[s]))
			line = line substr(" .:-=+*#%@", level + 1, 1)
		}
		sub(/ +$/, "", line)
		print line
	}
	text_axis()
}

function svg_row(s, y,   bin, height) {
	printf "<text x=\"0\" y=\"%d\">%s</text>\n", y - 8, name[s]
	for (bin = first; bin <= last; bin++) {
		if (count[s, bin] == 0)
			continue
		height = 1 + 60 * count[s, bin] / most[s]
		printf "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"><title>%s: %d</title></rect>\n", \
			left + (bin - first) * wide, y - height, wide - 1, height, in_us(lower_of(bin)), count[s, bin]
	}
}

function page(   s, bin, x, bottom) {
	bottom = systems * 80 + 10
	print "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>Round trips</title>"
	print "<style>body{font:14px sans-serif;max-width:70em;margin:2em auto}rect{fill:#06c}text{font-size:13px}line{stroke:#ccc}</style>"
	print "<h1>Round trips</h1><p>From the time a message is due to the time the client has its echo; " \
		"logarithmic axis, each row scaled to its fullest bin. A bin shows its count when it is pointed at.</p>"
	printf "<svg viewBox=\"0 0 %d %d\">\n", left + (last - first + 1) * wide, bottom + 20
	for (bin = first; bin <= last; bin += 3 * per_octave) {
		x = left + (bin - first) * wide
		printf "<line x1=\"%d\" y1=\"0\" x2=\"%d\" y2=\"%d\"/><text x=\"%d\" y=\"%d\">%s</text>\n", x, x, bottom, x, bottom + 16, in_us(lower_of(bin))
	}
	for (s = 1; s <= systems; s++)
		svg_row(s, s * 80)
	print "</svg></html>"
}

BEGIN { FS = ","; per_octave = 4; left = 190; wide = 12 }

FNR == 1 {
	systems++
	name[systems] = FILENAME
	sub(/.*\//, "", name[systems])
	sub(/\.csv$/, "", name[systems])
	gsub(/_/, " ", name[systems])
	for (i = 1; i <= NF; i++)
		if ($i == "latency_ns")
			column = i
	next
}

$column > 0 {
	bin = bin_of($column)
	if (++count[systems, bin] > most[systems])
		most[systems] = count[systems, bin]
	first = first == "" || bin < first ? bin : first
	last = bin > last ? bin : last
}

END {
	if (html)
		page()
	else
		text()
}
