// Opens an index beside its shard, and finds out whether the log can bring it up to date.

import { ServiceError } from '../../../lib/errors.ts'
import type { IndexClient } from '../../index/host/index-client.ts'
import type { IndexDefinition } from '../../index/host/index-definition.ts'
import type { OutdatedIndex, SchemaSource } from '../../index/host/index-engine.ts'
import { endOfLog } from '../format/stored-log.ts'
import type { FollowedShard } from './followed-shard.ts'
import type { LearntFields } from './learnt-fields.ts'
import { takeBackfill, type SavedBackfill } from './saved-backfill.ts'

/** The index to open, and the shard that it belongs to. */
export interface OpenIndexOptions {
  readonly shard: FollowedShard
  readonly index: Pick<IndexClient, 'open' | 'reset'>
  readonly fields: LearntFields
  readonly definition: IndexDefinition
  /** Undefined: in memory only. */
  readonly directory: string | undefined
}

/**
 * `current` is as of a log entry that the log continues; `partial` needs the rest of the table, and `empty` the whole
 * table.
 */
export type OpenedFollowing =
  | { readonly kind: 'current'; readonly checkpoint: number }
  | { readonly kind: 'partial'; readonly saved: SavedBackfill }
  /** `reason`: why the index is built again, if it existed before. */
  | { readonly kind: 'empty'; readonly reason: string | undefined }

/** Opens an index. CORRUPTION means that its files cannot be used and must be reset. */
export async function openIndex(
  options: OpenIndexOptions,
  source: SchemaSource,
): Promise<OpenedFollowing> {
  const { shard, index, fields, definition, directory } = options
  const known = fields.forOpening()
  const opened = await index.open({ definition, directory, source, fields: known })
  if (opened.outdated !== undefined) return replace(options, source, opened.outdated)
  const { checkpoint, documents } = opened
  if (checkpoint > 0) {
    const reason = await whyRebuild(shard, checkpoint)
    if (reason !== undefined) throw new ServiceError('CORRUPTION', reason)
    return { kind: 'current', checkpoint }
  }
  // An index with documents but without a checkpoint was not complete when the node ended.
  const isPartial = documents > 0 || source.kind === 'stored'
  if (!isPartial) return { kind: 'empty', reason: undefined }
  const saved = await savedBuild(options, source, documents)
  return saved === undefined ? resetIndex(options, source, undefined) : { kind: 'partial', saved }
}

/** Undefined if the build has to begin anew. */
async function savedBuild(
  { shard, directory }: OpenIndexOptions,
  source: SchemaSource,
  documents: number,
): Promise<SavedBackfill | undefined> {
  if (directory === undefined || source.kind === 'stored') return undefined
  const saved = await takeBackfill(directory)
  if (saved?.documents !== documents) return undefined
  return (await whyRebuild(shard, saved.applied)) === undefined ? saved : undefined
}

/** Empties the index. CORRUPTION for the index of an earlier schema, which is not built again. */
export async function resetIndex(
  { index, fields, definition, directory }: OpenIndexOptions,
  source: SchemaSource,
  reason: string | undefined,
): Promise<OpenedFollowing> {
  if (source.kind === 'stored') {
    throw new ServiceError('CORRUPTION', 'the index of the earlier schema was never complete')
  }
  const { schema } = source
  await index.reset({ definition, directory, schema, fields: fields.forOpening() })
  return { kind: 'empty', reason }
}

/** Puts the fields that the index knew on the table's list first, so that the rebuild maps alike. */
async function replace(
  options: OpenIndexOptions,
  source: SchemaSource,
  { reason, fields }: OutdatedIndex,
): Promise<OpenedFollowing> {
  await options.fields.propose(fields)
  return resetIndex(options, source, reason)
}

async function whyRebuild(
  { store, appliedSequence }: FollowedShard,
  checkpoint: number,
): Promise<string | undefined> {
  if (checkpoint > appliedSequence) return 'the index is ahead of its shard'
  const oldest = await endOfLog(store, 'oldest')
  if (oldest === undefined || oldest <= checkpoint + 1) return undefined
  return 'the log no longer reaches back to the index'
}
