// Nodes tell each other of changed tables, so that a client that was answered may use the table at any node.
// Described in docs/reference/formats/catalog.md.

import type { Log } from '../../../lib/log.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { PeerHandler, PeerHandlers, PeerLink } from '../../peer/peer.ts'
import type { NodeId } from '../../replication/core/configuration.ts'

/** Part of the peer protocol. The body is the name of the table; the answer is empty. */
const TABLE_CHANGED = 112

/**
 * A change waits two seconds for nodes that do not answer. They learn of it by their watches, later than the client
 * of the change.
 */
const TELL_MS = 2000

/** What the news of tables are made of. */
export interface TableNewsOptions {
  /** The nodes that are there, this one among them. */
  readonly nodes: () => readonly NodeId[]
  /** The way to a node; undefined while nobody knows its address. */
  readonly linkTo: (node: NodeId) => PeerLink | undefined
  /** Resolves when this node serves the table as the catalog has it at the call, or does not know it if it is gone. */
  readonly reach: (name: string, signal: AbortSignal) => Promise<void>
  readonly log: Log
}

/** Tells all nodes, and answers those that tell. */
export class TableNews {
  readonly #with: TableNewsOptions

  constructor(options: TableNewsOptions) {
    this.#with = options
  }

  handlers(): PeerHandlers {
    const handler: PeerHandler = {
      kind: 'call',
      handle: async ({ body, signal }) => {
        await this.#with.reach(body.toString(), signal)
        return Buffer.alloc(0)
      },
    }
    return new Map([[TABLE_CHANGED, handler]])
  }

  /** Resolves when every node that answers in time serves the table as the catalog has it. Never rejects. */
  async tell(name: string): Promise<void> {
    await Promise.all(this.#with.nodes().map((node) => this.#tellOne(node, name)))
  }

  async #tellOne(node: NodeId, name: string): Promise<void> {
    const { linkTo, log } = this.#with
    try {
      const body = Buffer.from(name)
      await linkTo(node)?.call({ operation: TABLE_CHANGED, body }, { timeoutMs: TELL_MS })
    } catch (error) {
      log.warn('a node learns of a changed table later', {
        node,
        table: name,
        error: messageOf(error),
      })
    }
  }
}
