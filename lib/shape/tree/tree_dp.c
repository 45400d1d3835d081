// SPDX-License-Identifier: BSD-3-Clause
// The path of a frame: into a leaf, which may become active, and out by the lists of the classes above it.
//
// A class is active while it has a frame to send: a leaf with frames, a class with active children that may send. An
// active class is in the excess list of its parent while its ceil has tokens for a frame, and else in the wheel. It is
// in the green list, too, while its rate has tokens, and else borrows, and is in the wheel. A leaf that alone has
// frames is neither active nor in a list: it leaves as its tokens permit.

#include "pay.h"
#include "queue.h"
#include "turns.h"

#define ADOPT 128 // classes per call that adopt new rates

// ---- bands

// Wait for tokens of the ceil: out of all lists.
static inline void tree_wait_ceil(struct tl_tree *t, struct tree_node *n)
{
	const struct tree_rate *r = n->rate;

	tree_leave_both(n);
	tl_wheel_schedule(
		&t->wheel, &n->wait, t->now_ns + tl_bucket_wait(t->mtu_cost - n->ctokens, r->ceil, r->ceil_inverse));
}

// Wait for tokens of the rate from now on; borrow until then.
static inline void tree_wait_rate(struct tl_tree *t, struct tree_node *n)
{
	const struct tree_rate *r = n->rate;

	tree_leave(n, TREE_GREEN);
	if (r->burst != 0)
		tl_wheel_schedule(&t->wheel, &n->wait,
			t->now_ns + tl_bucket_wait(r->green_tokens - n->tokens, r->rate, r->rate_inverse));
}

static inline void tree_place_green(struct tl_tree *t, struct tree_node *n, bool waited)
{
	if (tree_is_in(n, TREE_GREEN))
		return;
	tree_earn_rate(n, t->now_ns, waited ? n->rate->owed : n->rate->burst);
	if (n->rate->burst != 0 && n->tokens >= n->rate->green_tokens)
		tree_join(n, TREE_GREEN);
	else
		tree_wait_rate(t, n);
}

// Put an active class where its tokens allow, and the classes above it that become active. waited: it had frames
// before, and so had they.
static void tree_place(struct tl_tree *t, struct tree_node *n, bool waited)
{
	for (; n->parent != NULL; n = n->parent) {
		bool was_active = n->parent->used != 0;
		if (n->rate->ceil != 0) {
			tree_earn_ceil(n, t->now_ns);
			if (n->ctokens < t->mtu_cost) {
				tree_wait_ceil(t, n);
				return;
			}
		}
		if (!tree_is_in(n, TREE_EXCESS))
			tree_join(n, TREE_EXCESS);
		tree_place_green(t, n, waited);
		if (was_active)
			return;
	}
}

static inline struct tree_node *tree_of_wait(struct tl_wheel_node *wait)
{
	return (struct tree_node *)(void *)((char *)wait - offsetof(struct tree_node, wait));
}

// Wake the classes that are due.
static void tree_run_wheel(struct tl_tree *t)
{
	struct tl_wheel *w = &t->wheel;
	struct tl_wheel_node *wait;
	uint32_t slot;

	while (tl_wheel_advance(w, t->now_ns, &slot)) {
		while ((wait = w->heads[slot]) != NULL) {
			struct tree_node *n = tree_of_wait(wait);
			tl_wheel_remove(w, wait);
			if (wait->when_ns > t->now_ns)
				tl_wheel_insert(w, wait, wait->when_ns);
			else if (n->used != 0)
				tree_place(t, n, true);
		}
	}
}

// ---- turns

// Move a class that has paid to where its tokens allow.
static void tree_settle(struct tl_tree *t, struct tree_node *n)
{
	if (n->used == 0)
		tree_leave_idle(n);
	else if (n->ctokens < t->mtu_cost)
		tree_wait_ceil(t, n);
	else
		tree_wait_rate(t, n);
}

static inline void tree_end_turn(struct tl_tree *t, struct tree_node *n, uint32_t band, uint32_t bytes, bool goes_on)
{
	n->turns[band].deficit -= (int32_t)bytes;
	if (TL_UNLIKELY(!goes_on || n->used == 0))
		tree_settle(t, n);
	else if (n->turns[band].deficit <= 0)
		tree_end_round(n, band);
}

// Pay for a frame that a class sends. One that is in the green list sends by its rate: others of a parent with a green
// child do not send. Not inline: the common case needs the registers.
static __attribute__((noinline)) void tree_pay(struct tl_tree *t, struct tree_node *n, uint32_t bytes, uint64_t cost)
{
	bool goes_on = tree_pay_ceil(t, n, cost);

	if (n->work & TREE_PAYS_RATE) {
		tl_count(&n->own_bytes, bytes);
		goes_on &= tree_pay_rate(t, n, cost);
		tree_end_turn(t, n, TREE_GREEN, bytes, goes_on);
		return;
	}
	tree_end_turn(t, n, TREE_EXCESS, bytes, goes_on);
}

// Send one frame; the root is active and has tokens. NULL: the selected leaf had only late frames.
static inline const struct tree_frame *tree_send(struct tl_tree *t, struct tree_node *root)
{
	struct tree_node *n = root;

	while (n->leaf == NULL)
		n = n->heads[__builtin_ctz(n->used)];
	struct tree_leaf *leaf = n->leaf;
	const struct tree_frame *frame = queue_pop(t, leaf);
	uint32_t bytes = TL_LIKELY(frame != NULL) ? frame->bytes : 0;
	uint64_t cost = bytes * TL_BUCKET_BYTE_COST;
	if (leaf->backlog_pkts == 0) {
		tree_set_used(n, 0);
		t->active--;
	}
	for (; n != root; n = n->parent)
		if (TL_LIKELY(n->work == 0))
			tree_pay_turn(n, bytes);
		else
			tree_pay(t, n, bytes, cost);
	root->ctokens -= cost;
	return frame;
}

// ---- changes of rates

// Have a class adopt the new rates, after those above it: it has the tokens of the old ones until the change, and of
// the new ones since. The root is in no list.
static __attribute__((noinline)) void tree_adopt_rate(struct tl_tree *t, struct tree_node *n)
{
	const struct tree_rate *rate = &t->rates->of[n - t->nodes];

	if (n->rate == rate)
		return;
	if (n->parent != NULL) {
		tree_adopt_rate(t, n->parent);
		tree_leave_both(n);
	}
	tree_earn_rate(n, t->change_ns, n->rate->owed);
	tree_earn_ceil(n, t->change_ns);
	if (n->rate->ceil == 0 || rate->ceil == 0) // a bucket that is not in use holds a frame
		n->ctokens = t->mtu_cost;
	n->rate = rate;
	n->work = (n->work & TREE_IS_IDLE) | (rate->ceil != 0 ? TREE_PAYS_CEIL : 0);
	n->tokens = tl_min_u64(n->tokens, rate->owed);
	n->ctokens = tl_min_u64(n->ctokens, rate->cburst);
	if (n->used != 0)
		tree_place(t, n, true);
}

static inline bool tree_is_changing(const struct tl_tree *t)
{
	return t->adopted != t->n_nodes;
}

// Have the next classes adopt the offered rates. Return whether all have: until then no frame leaves, so none leaves by
// old rates after one by new rates.
static bool tree_change_rates(struct tl_tree *t)
{
	const struct tl_tree_rates *offered = atomic_load_explicit(&t->offered, memory_order_acquire);

	if (offered != t->rates) {
		t->rates = offered;
		t->change_ns = t->now_ns;
		t->adopted = 0;
	}
	uint32_t end = (uint32_t)tl_min_u64(t->adopted + ADOPT, t->n_nodes);
	for (; t->adopted < end; t->adopted++)
		tree_adopt_rate(t, &t->nodes[t->adopted]);
	if (tree_is_changing(t))
		return false;
	__atomic_store_n(&t->in_use, offered, __ATOMIC_RELEASE);
	return true;
}

static inline bool tree_is_offered(const struct tl_tree *t)
{
	return atomic_load_explicit(&t->offered, memory_order_relaxed) != t->in_use;
}

// ---- frames in and out

// ---- a leaf that competes with no other

// Have the only leaf with frames compete: another one got some, or it waits for tokens.
static void tree_end_lone(struct tl_tree *t)
{
	struct tree_node *n = t->lone;

	if (tree_is_changing(t)) // before it has tokens of a later time
		tree_adopt_rate(t, n);
	t->lone = NULL;
	tree_set_used(n, 1);
	tree_place(t, n, false);
}

static uint32_t tree_drain_lone(struct tl_tree *t, void **out, uint32_t n)
{
	struct tree_node *root = t->nodes, *lone = t->lone;
	uint32_t sent = 0;

	tree_earn_ceil(root, t->now_ns);
	while (sent < n && lone->leaf->backlog_pkts != 0 && root->ctokens >= t->mtu_cost) {
		if (!tree_has_ceils(t, lone)) {
			tree_end_lone(t);
			return sent;
		}
		const struct tree_frame *frame = queue_pop(t, lone->leaf);
		if (frame == NULL) // all were late
			break;
		tree_pay_lone(t, lone, frame->bytes);
		out[sent++] = frame->frame;
	}
	if (lone->leaf->backlog_pkts == 0) {
		t->lone = NULL;
		t->active = 0;
	}
	return sent;
}

// ---- in

void tree_wake(struct tl_tree *t, struct tree_node *n)
{
	t->active++;
	tree_set_used(n, 1);
	tree_place(t, n, true);
}

static inline void tree_compete(struct tl_tree *t, struct tree_node *n)
{
	t->active++;
	tree_set_used(n, 1);
	tree_place(t, n, false);
}

// Have a leaf that is in no list, and has frames, take part. The only one needs no list: "used" stays 0.
static __attribute__((noinline)) void tree_activate(struct tl_tree *t, struct tree_node *n)
{
	if (n == t->lone)
		return;
	if (tree_is_changing(t))
		tree_adopt_rate(t, n);
	if (t->active == 0) {
		t->active = 1;
		t->lone = n;
		return;
	}
	if (t->lone != NULL)
		tree_end_lone(t);
	tree_compete(t, n);
}

static inline bool tree_is_busy(const struct tl_tree *t)
{
	return t->active != 0 && t->lone == NULL && !tree_is_changing(t);
}

void tl_tree_enqueue(struct tl_tree *t, uint64_t now_ns, uint32_t cls, uint32_t hash, uint32_t bytes, void *frame)
{
	struct tree_node *n = &t->nodes[cls];

	t->now_ns = tl_max_u64(t->now_ns, now_ns);
	queue_push(t, n->leaf, hash, bytes, frame);
	if (n->used != 0 || n->leaf->backlog_pkts == 0)
		return;
	if (tree_is_busy(t))
		tree_compete(t, n);
	else
		tree_activate(t, n);
}

// ---- out

// Dequeue up to n frames for which the root has tokens.
static inline uint32_t tree_drain(struct tl_tree *t, void **out, uint32_t n)
{
	struct tree_node *root = t->nodes;
	uint64_t mtu_cost = t->mtu_cost;
	uint32_t sent = 0;

	tree_earn_ceil(root, t->now_ns);
	while (sent < n && root->used != 0 && root->ctokens >= mtu_cost) {
		const struct tree_frame *frame = tree_send(t, root);
		if (TL_LIKELY(frame != NULL))
			out[sent++] = frame->frame;
	}
	return sent;
}

// Not inline: the common case needs the registers.
static __attribute__((noinline)) uint32_t tree_drain_after_work(struct tl_tree *t, void **out, uint32_t n)
{
	if (tree_is_offered(t) && !tree_change_rates(t))
		return 0;
	if (t->now_ns >= t->wheel.next_ns)
		tree_run_wheel(t);
	return t->lone != NULL ? tree_drain_lone(t, out, n) : tree_drain(t, out, n);
}

uint32_t tl_tree_dequeue(struct tl_tree *t, uint64_t now_ns, void **out, uint32_t n)
{
	t->now_ns = tl_max_u64(t->now_ns, now_ns);
	if (TL_UNLIKELY(tree_is_offered(t) || t->now_ns >= t->wheel.next_ns || t->lone != NULL))
		return tree_drain_after_work(t, out, n);
	return tree_drain(t, out, n);
}

uint64_t tl_tree_next_ns(const struct tl_tree *t)
{
	const struct tree_node *root = t->nodes;
	const struct tree_rate *r = root->rate;

	if (TL_UNLIKELY(tree_is_offered(t)))
		return t->now_ns;
	if (root->used == 0 && t->lone == NULL)
		return t->wheel.next_ns;
	if (root->ctokens >= t->mtu_cost)
		return t->now_ns;
	return root->ctokens_ns + tl_bucket_wait(t->mtu_cost - root->ctokens, r->ceil, r->ceil_inverse);
}
