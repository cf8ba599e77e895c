/** The owner of a log. The journal calls it to remove old segments. */
export interface LogOwner {
  /** Makes all entries of the journal durable elsewhere. Resolves to the last such sequence. */
  flush(): Promise<number>
  /**
   * The lowest sequence that a follower or an index still has to read from the journal; Infinity if
   * none has to. It holds segments back that are flushed, up to `wantedBytes` in all.
   */
  wantedFrom?(): number
}
