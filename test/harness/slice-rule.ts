// The rule of slices as numbers.

/** Of work, without collections of garbage: in one turn of an event loop, in one slice of a worker. */
const RULE_MS = { loop: 20, worker: 50 } as const

/**
 * The rule is for a machine that has a core for the thread. On a busy one two threads share a core and its
 * caches, and the same work takes twice the CPU time and sometimes more. What the rule is there to find, a
 * loop over a body that takes no pauses, takes hundreds of milliseconds.
 */
const BUSY_FACTOR = 3

export const WORK_MS_MAX = {
  loop: RULE_MS.loop * BUSY_FACTOR,
  worker: RULE_MS.worker * BUSY_FACTOR,
} as const

/**
 * Collecting garbage stops a thread wherever it is, and takes as long as there is living memory to trace:
 * no slicing makes it shorter. With it, a turn or a slice has a bound that only an accident reaches.
 */
export const WITH_COLLECTIONS_MS_MAX = 1000
