// What the store says of itself: `GET /api/v1/status` and `GET /api/v1/cluster/nodes`, as the machines need them.

/** One answer of one node of the store, which tells of all nodes. */
export interface StoreView {
  /** When the operator got the answer. */
  readonly readAtMs: number
  /** How old the answer was: since then the control plane has not answered the asked node. */
  readonly ageMs: number
  readonly health: 'healthy' | 'degraded' | 'unhealthy' | 'error'
  readonly message?: string
  /** The program of the node that has answered. */
  readonly version?: string
  /** Whether an elected controller reports, has no problem and is not frozen. Only such a one moves replicas. */
  readonly isControlled: boolean
  /** Why the controller does not move replicas. */
  readonly controllerProblem?: string
  readonly shards: {
    readonly total: number
    /** They have fewer replicas in sync than their table asks for. */
    readonly underReplicated: number
    /** They take no writes now. */
    readonly unavailable: number
  }
  readonly nodes: readonly StoreNode[]
}

/** A node that has joined the store and was not forgotten. Its id stays with its volume. */
export interface StoreNode {
  readonly id: string
  /** The pod: nodes are started with `--node-name`. Absent of a node that was started by hand. */
  readonly name?: string
  readonly zone: string
  /** What operators want of it. */
  readonly state: 'unknown' | 'serving' | 'draining' | 'decommissioned' | 'forgotten'
  /** Whether the node serves, leaves or is away. */
  readonly condition: 'serving' | 'leaving' | 'emptying' | 'away' | 'lost'
  /** Absent while it is away. */
  readonly version?: string
  /** Grows with each start of the node. Absent while it is away. */
  readonly incarnation?: number
  readonly replicas: number
  readonly leaders: number
  readonly safeToStop: boolean
  readonly neededFor?: string
  /** How far a draining or decommissioned node is emptied. */
  readonly emptying?: Emptying
  /** The id that its drain or decommission came with. */
  readonly operation?: string
  readonly disk?: { readonly totalBytes: number; readonly freeBytes: number }
  /** ISO 8601. */
  readonly registeredAt?: string
}

/** How much is still on a node that is being drained or decommissioned. */
export interface Emptying {
  /** It holds nothing any more. */
  readonly done: boolean
  readonly replicasLeft: number
  readonly leadersLeft: number
  readonly moving: number
  /** Shards that cannot leave now. */
  readonly waiting: number
  /** Why the first of them cannot. */
  readonly waitingFor?: string
}
