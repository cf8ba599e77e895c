// Every bound of the calls of shards between nodes.

const KIB = 1024
const MIB = 1024 * KIB

/** A call without a deadline of its own is given up after this time. */
export const CALL_TIMEOUT_MS = 10_000
/** Longer arguments and records go in parts on the bulk lane, so that short calls do not wait for them. */
export const LONG_BYTES = MIB
/** The length of a part: half of the prompt lane's window, so that the next one is on its way. */
export const PART_BYTES = 32 * KIB
/** The longest argument. A request of a client becomes a little longer on its way. */
export const ARGUMENT_BYTES_MAX = 128 * MIB
/** The long arguments that a node holds, all together. */
export const ARGUMENTS_BYTES_MAX = 256 * MIB
/** The documents whose artifacts one call asks for. */
export const ARTIFACT_KEYS_MAX = 1024
/** The longest answer about artifacts: a mebibyte, and the last document's. */
export const ARTIFACTS_ANSWER_BYTES_MAX = 64 * MIB
/** The longest answer of an index. */
export const SEARCH_ANSWER_BYTES_MAX = 64 * MIB
