// What a kind of index has to say for itself. All but its workers learn of a kind from its descriptor alone.

import type { Sliced } from '../../../lib/sliced.ts'
import type { ForeignQuestion, IndexKind } from '../host/index-kind.ts'

/** What an index is made from: the JSON text of documents, or what the shard keeps of each (embedding/artifact.ts). */
export type IndexFeed = 'documents' | 'artifacts'

/** The configuration of one kind: what its indexes have set beside name, type and mem_only. */
export interface KindSettings {
  /** Checks a client's configuration; INVALID_ARGUMENT names what is wrong. Undefined: there is nothing to keep. */
  parse(members: Readonly<Record<string, unknown>>, where: string): unknown
  /** The members that a client may send to get these settings. */
  show(settings: unknown): Readonly<Record<string, unknown>>
}

/** A kind of index without the types of its questions. */
export interface AnyIndexDescriptor extends IndexKind {
  /** What records of tables, directories and calls between nodes call it. It never changes. */
  readonly kind: string
  readonly feed: IndexFeed
  /** What a query says for an index of the kind: words, or a vector. */
  readonly searchedBy: 'words' | 'vectors'
  readonly settings: KindSettings
  /** Whether the store makes the artifacts of an index with these settings, because no client writes them. */
  isEnriched(settings: unknown): boolean
  /** Whether the engine can read the request. One of a later version may be of a form that this one does not know. */
  isRequest(asked: ForeignQuestion): boolean
  /**
   * Makes of a worker's answer one that nodes of every version can read. Absent for a kind whose workers answer in
   * such a form.
   */
  portable?(answer: unknown): Sliced<unknown>
}

/** A kind of index with the types of what it is asked: by question, `request` and `answer`. */
export interface IndexDescriptor<Kind extends string, Questions> extends AnyIndexDescriptor {
  readonly kind: Kind
  isRequest(asked: ForeignQuestion): asked is ForeignQuestion & AskedOf<Questions>
}

/** Each question with its own request. */
export type AskedOf<Questions> = {
  readonly [Name in keyof Questions]: {
    readonly question: Name
    readonly request: RequestOf<Questions[Name]>
  }
}[keyof Questions]

type RequestOf<Row> = Row extends { readonly request: infer Request } ? Request : never
