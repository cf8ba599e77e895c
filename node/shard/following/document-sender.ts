import { packBatch, type DocumentChange } from '../../index/host/document-batch.ts'
import type { IndexClient } from '../../index/host/index-client.ts'
import type { AppliedBatch } from '../../index/host/protocol.ts'
import type { LearntFields } from './learnt-fields.ts'
import type { SetAsideDocuments } from './set-aside-documents.ts'

/** The index that gets the documents, and the parts that may hold a document back. */
export interface DocumentSenderOptions {
  readonly index: Pick<IndexClient, 'apply'>
  readonly fields: LearntFields
  readonly setAside: SetAsideDocuments
}

/**
 * Sends documents to an index. It adds new fields to the table's list first, and leaves out
 * documents set aside.
 */
export class DocumentSender {
  readonly #with: DocumentSenderOptions

  constructor(options: DocumentSenderOptions) {
    this.#with = options
  }

  /**
   * Resolves when the index has applied all changes up to log entry `sequence`. The result is its
   * checkpoint.
   */
  async send(sequence: number, changes: readonly DocumentChange[]): Promise<number> {
    const { fields, setAside } = this.#with
    for (let left = setAside.without(changes); ;) {
      const { taken, undecided, checkpoint } = await this.#apply(sequence, left)
      if (taken >= left.length) return checkpoint
      left = left.slice(taken)
      await fields.propose(undecided)
      await fields.tell()
    }
  }

  async #apply(sequence: number, changes: readonly DocumentChange[]): Promise<AppliedBatch> {
    const { index, setAside } = this.#with
    try {
      const applied = await index.apply(packBatch(sequence, changes))
      setAside.absolve(changes.slice(0, applied.taken))
      return applied
    } catch (error) {
      setAside.blame(error, changes)
      throw error
    }
  }
}
