// Transforms as documents: a vector is made of what a document will be, so it has to be known before the write.
//
// The shard would compute the same from the document that it has. The computed one is written on condition that the
// shard has the version that was read; the caller begins again if it has another.

import type { Clock } from '../../../lib/clock.ts'
import { runInTurn, StepMeter, type Sliced } from '../../../lib/sliced.ts'
import { TIMESTAMP_ZERO } from '../../clock/hybrid-clock.ts'
import { checkDocumentLimits, located, shownKey } from '../../document/document-limits.ts'
import { applyTransformsSliced } from '../../document/transform.ts'
import type { TransformRequest } from '../../document/transform-request.ts'
import type { VersionCheck, WriteOp } from '../../shard/command/command.ts'
import { jsonOf, versionOf } from '../../shard/format/document-record.ts'
import type { TransactionPart } from '../transaction-part.ts'
import type { VectorShare } from './held-vectors.ts'

const OPS_PER_STEP = 1000

/** What transforms are resolved with. */
export interface TransformResolverOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly memory: VectorShare
}

/** Resolves the transforms of one request. */
export class TransformResolver {
  readonly #clock: Clock
  readonly #signal: AbortSignal
  readonly #memory: VectorShare

  constructor({ clock, signal, memory }: TransformResolverOptions) {
    this.#clock = clock
    this.#signal = signal
    this.#memory = memory
  }

  /** The part without transforms. Rejects as the shard would, with nothing written. */
  async resolve(part: TransactionPart): Promise<TransactionPart> {
    const slices = { clock: this.#clock, signal: this.#signal }
    const { plain, lastOf, transformed } = await runInTurn(sortOps(part.ops), slices)
    if (transformed.size === 0) return part
    const checks: VersionCheck[] = [...part.checks]
    const made: WriteOp[] = []
    for (const [name, { key, transforms }] of transformed) {
      const op = lastOf.get(name)
      const found =
        op === undefined || op.kind === 'artifacts' ? await this.#read(part, key) : undefined
      if (found !== undefined) checks.push({ key, version: found.version })
      const before = found === undefined ? jsonIn(op) : found.json
      const work = this.#apply(part, { key, before, transforms })
      const after = await runInTurn(work, slices)
      if (after !== undefined) made.push(withArtifactsOf(op, after))
    }
    // The last operation on a key is the one that counts.
    return { ...part, checks, ops: plain.concat(made) }
  }

  async #read({ shard }: TransactionPart, key: Buffer): Promise<StoredVersion> {
    const record = await shard.read(key, { signal: this.#signal })
    if (record === undefined) return { json: undefined, version: TIMESTAMP_ZERO }
    return { json: jsonOf(record), version: versionOf(record) }
  }

  *#apply(
    { table }: TransactionPart,
    { key, before, transforms }: KeyTransforms & { readonly before: Buffer | undefined },
  ): Sliced<WriteOp | undefined> {
    const json = yield* applyTransformsSliced(before, transforms, this.#clock.nowMs())
    if (json === undefined) return undefined
    this.#memory.take(json.length)
    try {
      yield* checkDocumentLimits(json)
    } catch (error) {
      throw located(`transform of ${shownKey(key.toString())}`, error)
    }
    return { kind: 'put', key, ...(yield* table.rules.checkSliced(key, json)) }
  }
}

/** The document that a key has; version 0 for none. */
interface StoredVersion {
  readonly json: Buffer | undefined
  readonly version: VersionCheck['version']
}

interface KeyTransforms {
  readonly key: Buffer
  readonly transforms: TransformRequest[]
}

interface SortedOps {
  /** All but transforms, in their order, and the last of each key. */
  readonly plain: WriteOp[]
  readonly lastOf: ReadonlyMap<string, WriteOp>
  readonly transformed: ReadonlyMap<string, KeyTransforms>
}

function* sortOps(ops: readonly WriteOp[]): Sliced<SortedOps> {
  const meter = new StepMeter(OPS_PER_STEP)
  const plain: WriteOp[] = []
  const lastOf = new Map<string, WriteOp>()
  const transformed = new Map<string, KeyTransforms>()
  for (const op of ops) {
    const name = nameOf(op.key)
    if (op.kind === 'transform') {
      const known = transformed.get(name) ?? { key: op.key, transforms: [] }
      known.transforms.push(op.transform)
      transformed.set(name, known)
    } else {
      plain.push(op)
      lastOf.set(name, op)
    }
    if (meter.spend(1)) yield
  }
  return { plain, lastOf, transformed }
}

function jsonIn(op: WriteOp | undefined): Buffer | undefined {
  return op?.kind === 'put' ? op.json : undefined
}

function withArtifactsOf(op: WriteOp | undefined, after: WriteOp): WriteOp {
  const artifacts = op?.kind === 'put' || op?.kind === 'artifacts' ? op.artifacts : undefined
  return artifacts === undefined || after.kind !== 'put' ? after : { ...after, artifacts }
}

function nameOf(key: Buffer): string {
  return key.toString('latin1')
}
