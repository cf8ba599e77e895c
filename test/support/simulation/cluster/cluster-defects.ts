// Defects for the nodes of a simulated cluster: one line of production code each, that a history must show.

import type { ClusterDefect } from './planted-cluster.ts'

export const CLUSTER_DEFECTS: Readonly<Record<string, ClusterDefect>> = {
  'a follower that acknowledges before its disk has it': {
    file: 'replication/shell/replicated-log.ts',
    text: 'this.#rows.push(appended, isLast ? () => this.#durable(position) : undefined)',
    instead: 'this.#rows.push(appended)\n      if (isLast) this.#durable(position)',
    faults: ['crash_all', 'slow_disk'],
    seed: 2,
  },
  'a leader that commits without its followers': {
    file: 'replication/core/leader.ts',
    text: 'reached = Math.min(reached, matched)',
    instead: 'reached = Math.max(reached, Math.min(reached, matched))',
    faults: ['crash', 'freeze', 'partition'],
    seed: 2,
  },
  'a leader that reads without grants': {
    file: 'replication/core/leader-reads.ts',
    text: 'const isEnough = isGranted && (!isHeard || others.size === 0)',
    instead: 'const isEnough = isGranted || nowMs > 0',
    faults: ['alone', 'freeze'],
    operations: { write: 2, read: 4 },
  },
  'a new leader that knows no held keys': {
    file: 'shard/shard-state.ts',
    text: 'for (const hold of holds) locks.add(hold)',
    instead: 'for (const hold of holds.slice(0, 0)) locks.add(hold)',
    faults: ['crash', 'freeze', 'operator'],
  },
  'a transaction that locks nothing that it only reads': {
    file: 'shard/apply/apply-transaction.ts',
    text: "if (!written.has(nameOf(key))) plan.push({ key, op: { kind: 'lock' } })",
    instead: "if (key.length === 0) plan.push({ key, op: { kind: 'lock' } })",
    faults: ['slow_network'],
    operations: { transact: 1 },
    seed: 7,
  },
  'a commit that does not check what was read': {
    file: 'shard/apply/apply-transaction.ts',
    text: 'return yield* failedCheck(context, checks, ttl)',
    instead: 'return checks.length < 0 ? yield* failedCheck(context, checks, ttl) : undefined',
    faults: ['slow_network'],
  },
  'a plain write that ignores held keys': {
    file: 'shard/apply/apply-transaction.ts',
    text: "const hold = context.memory.locks.blocker(write.key, 'write')\n  if (hold !== undefined) {",
    instead:
      "const hold = context.memory.locks.blocker(write.key, 'write')\n  if (hold !== undefined && context.nowMs < 0) {",
    faults: ['slow_network'],
    seed: 2,
  },
  'a read that ignores held keys': {
    file: 'shard/shard-reads.ts',
    text: 'return isChanged ? this.#readHeld(key, hold) : this.#readStored(key)',
    instead:
      'return isChanged && key.length === 0 ? this.#readHeld(key, hold) : this.#readStored(key)',
    faults: ['slow_network'],
    operations: { pair: 2, read: 2 },
  },
  'a scan that forgets what committed transactions still hold': {
    file: 'shard/holder-reader.ts',
    text: "if (status.state !== 'committed' || status.commitTs > at) continue",
    instead: 'if (at > 0n) continue',
    faults: ['slow_network'],
    operations: { pair: 1, transfer: 2, scan: 3 },
    seed: 64,
  },
  'a coordinator that commits when a prepare has failed': {
    file: 'coordinator/transactions/transaction-runner.ts',
    text: 'if (failure === undefined && refused === undefined) {',
    instead: 'if (refused === undefined) {',
    faults: ['crash', 'freeze', 'cut', 'partition'],
    seed: 7,
  },
  'a recovery that aborts what is committed': {
    file: 'coordinator/transactions/transaction-recovery.ts',
    text: "if (status.state !== 'pending') return status",
    instead: "if (status.state !== 'pending') return { state: 'aborted' }",
    faults: ['crash', 'crash_all', 'cut'],
    seed: 5,
  },
  'a write that is tried again after an unknown outcome': {
    file: 'coordinator/transactions/transaction-rerouting.ts',
    text: "(error.code === 'NOT_LEADER' || error.code === 'RANGE_MOVED')",
    instead: "(error.code === 'NOT_LEADER' || error.code === 'UNAVAILABLE')",
    faults: ['cut', 'crash', 'freeze'],
    seed: 23,
  },
  'a document that is read after its time': {
    file: 'shard/shard-reads.ts',
    text: 'return record !== undefined && isVisible(record, ttl, nowMs) ? record : undefined',
    instead: 'return record !== undefined && isVisible(record, ttl, 0) ? record : undefined',
    faults: ['clocks', 'crash'],
    operations: { lend: 1, seek: 2 },
  },
  'a document that expires before its time': {
    file: 'shard/format/visibility.ts',
    text: 'return expiresAtMs === 0 || expiresAtMs > nowMs',
    instead: 'return expiresAtMs === 0 || expiresAtMs > nowMs + 1600',
    faults: ['clocks', 'crash'],
    operations: { lend: 1, seek: 2 },
  },
  'a drop that leaves transactions open': {
    file: 'coordinator/transactions/transaction-recovery.ts',
    text: "if (route.kind === 'unknown') continue // the next round asks again",
    instead: "if (route.kind !== 'shard') continue",
    faults: ['crash', 'freeze', 'cut'],
    operations: { cross: 4, drop: 1, read: 1 },
  },
  'an idempotency key whose answer is not kept': {
    file: 'coordinator/transactions/idempotency.ts',
    text: "  collector.addOp(table, { kind: 'put', key, ...table.rules.check(key, json) })\n",
    instead: '  void json\n',
    faults: ['cut', 'crash', 'freeze'],
  },
  'a duplicate that does not meet the first request': {
    file: 'coordinator/transactions/idempotency.ts',
    text: '  collector.addCheck(table, key, TIMESTAMP_ZERO)\n',
    instead: '',
    faults: ['slow_network'],
  },
  'a killed node that comes back in the future': {
    file: 'clock/hybrid-clock.ts',
    text: 'if (options.waitsForBound === true && aheadMs > 0) {',
    instead: 'if (aheadMs === Infinity) {',
    faults: ['crash_all'],
  },
}
