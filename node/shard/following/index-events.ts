/** Counts the events of a node's indexes since its start, by shard, for the metrics. */
export class IndexEvents {
  /** Builds of an index that did not exist, or that was not complete. */
  firstBuilds = 0
  /** Builds of an index that was damaged, outdated or too far behind. */
  rebuilds = 0
  failures = 0
  documentsSetAside = 0
  /** Writes that waited because an index was far behind. */
  slowedWrites = 0
  /** Questions to indexes, of this node and of others. */
  questions = 0
}
