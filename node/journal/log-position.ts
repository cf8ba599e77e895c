/** An entry of a log, and what the next one must be chained to. */
export interface LogPosition {
  readonly sequence: number
  /** The epoch of the leadership that appended it. */
  readonly epoch: number
  /** The crc over this entry and, by the chain, over all before it. */
  readonly crc: number
}
