// SPDX-License-Identifier: BSD-3-Clause
// The path of a frame: into a leaf, which may become active, and out by the lists of the classes above it.
//
// A class is active while it has a frame to send: a leaf with frames, a class with active children that may send. An
// active class is in the excess list of its parent while its ceil has tokens for a frame, and else in the wheel. It is
// in the green list, too, while its rate has tokens, and else borrows, and is in the wheel.

#include "queue.h"

#define REFRESH 32 // classes per call after a change of rates

// ---- lists

static inline bool tree_is_in(const struct tree_node *n, uint32_t band)
{
	return n->turns[band].list != TREE_LISTS;
}

static inline void tree_set_used(struct tree_node *n, uint32_t used)
{
	n->used = used;
	n->work = used != 0 ? n->work & ~(uint32_t)TREE_IS_IDLE : n->work | TREE_IS_IDLE;
}

// Enter a list of the parent: in front with the rest of a round that was broken off, else last with a new one.
static inline void tree_join(struct tree_node *n, uint32_t band)
{
	struct tree_turn *turn = &n->turns[band];
	struct tree_node *parent = n->parent;
	uint32_t list = band * TL_TREE_PRIOS + n->rate->prio;
	struct tree_node *head = parent->heads[list];
	bool goes_on = turn->deficit > 0;

	if (!goes_on)
		turn->deficit += (int32_t)n->rate->quantum;
	turn->list = list;
	n->work |= band == TREE_GREEN ? TREE_PAYS_RATE : 0;
	if (head == NULL) {
		turn->next = turn->prev = parent->heads[list] = n;
		tree_set_used(parent, parent->used | 1u << list);
		return;
	}
	turn->next = head;
	turn->prev = head->turns[band].prev;
	turn->prev->turns[band].next = n;
	head->turns[band].prev = n;
	if (goes_on)
		parent->heads[list] = n;
}

// Leave a list of the parent, if in one. A class whose round is not on keeps only its debt.
static inline void tree_leave(struct tree_node *n, uint32_t band)
{
	struct tree_turn *turn = &n->turns[band];
	struct tree_node *parent = n->parent;
	uint32_t list = turn->list;

	if (list == TREE_LISTS)
		return;
	turn->list = TREE_LISTS;
	n->work &= band == TREE_GREEN ? ~(uint32_t)TREE_PAYS_RATE : UINT32_MAX;
	turn->prev->turns[band].next = turn->next;
	turn->next->turns[band].prev = turn->prev;
	if (parent->heads[list] != n) {
		turn->deficit = turn->deficit < 0 ? turn->deficit : 0;
	} else if (turn->next != n) {
		parent->heads[list] = turn->next;
	} else {
		parent->heads[list] = NULL;
		tree_set_used(parent, parent->used & ~(1u << list));
	}
}

static inline void tree_leave_both(struct tree_node *n)
{
	tree_leave(n, TREE_GREEN);
	tree_leave(n, TREE_EXCESS);
}

// Leave all lists. A leaf without frames loses the rest of its round; a class whose children wait for tokens does not.
static inline void tree_leave_idle(struct tree_node *n)
{
	tree_leave_both(n);
	for (uint32_t band = 0; n->leaf != NULL && band < TREE_BANDS; band++)
		n->turns[band].deficit = n->turns[band].deficit < 0 ? n->turns[band].deficit : 0;
}

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

// ---- out

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

static inline void tree_end_round(struct tree_node *n, uint32_t band)
{
	struct tree_turn *turn = &n->turns[band];

	turn->deficit += (int32_t)n->rate->quantum;
	n->parent->heads[turn->list] = turn->next;
}

// Take a frame's tokens of the ceil. Return whether another frame may follow.
static inline bool tree_pay_ceil(struct tl_tree *t, struct tree_node *n, uint64_t cost)
{
	if (!(n->work & TREE_PAYS_CEIL))
		return true;
	tree_earn_ceil(n, t->now_ns);
	n->ctokens -= cost;
	return n->ctokens >= t->mtu_cost;
}

static inline bool tree_pay_rate(struct tl_tree *t, struct tree_node *n, uint64_t cost)
{
	tree_earn_rate(n, t->now_ns, n->rate->owed);
	n->tokens -= tl_min_u64(cost, n->tokens); // fewer: other rates
	return n->tokens >= t->mtu_cost;
}

static inline void tree_end_turn(struct tl_tree *t, struct tree_node *n, uint32_t band, uint32_t bytes, bool goes_on)
{
	n->turns[band].deficit -= (int32_t)bytes;
	if (TL_UNLIKELY(!goes_on || n->used == 0))
		tree_settle(t, n);
	else if (n->turns[band].deficit <= 0)
		tree_end_round(n, band);
}

// The common case: a class that borrows, without a bucket of its own, and has more to send.
static inline void tree_pay_turn(struct tree_node *n, uint32_t bytes)
{
	n->turns[TREE_EXCESS].deficit -= (int32_t)bytes;
	if (TL_UNLIKELY(n->turns[TREE_EXCESS].deficit <= 0))
		tree_end_round(n, TREE_EXCESS);
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
	if (leaf->backlog_pkts == 0)
		tree_set_used(n, 0);
	for (; n != root; n = n->parent)
		if (TL_LIKELY(n->work == 0))
			tree_pay_turn(n, bytes);
		else
			tree_pay(t, n, bytes, cost);
	root->ctokens -= cost;
	return frame;
}

// Have some of the classes adopt the new rates, and move them between lists. The root is in no list.
static void tree_refresh(struct tl_tree *t)
{
	uint32_t end = (uint32_t)tl_min_u64(t->refreshed + REFRESH, t->n_nodes);

	for (; t->refreshed < end; t->refreshed++) {
		struct tree_node *n = &t->nodes[t->refreshed];
		tree_earn_rate(n, t->now_ns, n->rate->owed);
		tree_earn_ceil(n, t->now_ns);
		if (n->parent != NULL)
			tree_leave_both(n);
		bool was_free = n->rate->ceil == 0;
		n->rate = &t->rates->of[t->refreshed];
		n->work = (n->work & TREE_IS_IDLE) | (n->rate->ceil != 0 ? TREE_PAYS_CEIL : 0);
		if (was_free || n->rate->ceil == 0) // a bucket that is not in use holds a frame
			n->ctokens = t->mtu_cost;
		n->tokens = tl_min_u64(n->tokens, n->rate->owed);
		n->ctokens = tl_min_u64(n->ctokens, n->rate->cburst);
		if (n->used != 0)
			tree_place(t, n, true);
	}
	if (end == t->n_nodes)
		__atomic_store_n(&t->in_use, t->rates, __ATOMIC_RELEASE);
}

static inline void tree_take_rates(struct tl_tree *t)
{
	const struct tl_tree_rates *offered = atomic_load_explicit(&t->offered, memory_order_acquire);

	if (TL_LIKELY(offered == t->in_use))
		return;
	if (offered != t->rates) {
		t->rates = offered;
		t->refreshed = 0;
	}
	tree_refresh(t);
}

void tree_wake(struct tl_tree *t, struct tree_node *n)
{
	tree_set_used(n, 1);
	tree_place(t, n, true);
}

void tl_tree_enqueue(struct tl_tree *t, uint64_t now_ns, uint32_t cls, uint32_t hash, uint32_t bytes, void *frame)
{
	struct tree_node *n = &t->nodes[cls];

	t->now_ns = tl_max_u64(t->now_ns, now_ns);
	queue_push(t, n->leaf, hash, bytes, frame);
	if (n->used == 0 && n->leaf->backlog_pkts != 0) {
		tree_set_used(n, 1);
		tree_place(t, n, false);
	}
}

uint32_t tl_tree_dequeue(struct tl_tree *t, uint64_t now_ns, void **out, uint32_t n)
{
	struct tree_node *root = t->nodes;
	uint64_t mtu_cost = t->mtu_cost;
	uint32_t sent = 0;

	t->now_ns = tl_max_u64(t->now_ns, now_ns);
	tree_take_rates(t);
	if (t->now_ns >= t->wheel.next_ns)
		tree_run_wheel(t);
	tree_earn_ceil(root, t->now_ns);
	while (sent < n && root->used != 0 && root->ctokens >= mtu_cost) {
		const struct tree_frame *frame = tree_send(t, root);
		if (TL_LIKELY(frame != NULL))
			out[sent++] = frame->frame;
	}
	return sent;
}

uint64_t tl_tree_next_ns(const struct tl_tree *t)
{
	const struct tree_node *root = t->nodes;
	const struct tree_rate *r = root->rate;

	if (TL_UNLIKELY(atomic_load_explicit(&t->offered, memory_order_relaxed) != t->in_use))
		return t->now_ns;
	if (root->used == 0)
		return t->wheel.next_ns;
	if (root->ctokens >= t->mtu_cost)
		return t->now_ns;
	return root->ctokens_ns + tl_bucket_wait(t->mtu_cost - root->ctokens, r->ceil, r->ceil_inverse);
}
