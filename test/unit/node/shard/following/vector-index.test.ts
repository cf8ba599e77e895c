// An index of vectors behind a shard: it holds exactly the vectors of the documents, whatever happened.

import { expect } from 'chai'
import { systemClock } from '../../../../../lib/clock.ts'
import { seededRandom, type Random } from '../../../../../lib/random.ts'
import type { EmbeddingsSettings } from '../../../../../node/embedding/settings.ts'
import type { IndexDefinition } from '../../../../../node/index/host/index-definition.ts'
import type { WriteOp } from '../../../../../node/shard/command/command.ts'
import { vectorWrite } from '../../../../support/artifacts.ts'
import { parseTestSettings } from '../../../../support/worlds/test-settings.ts'
import { deleteOp } from '../../../../support/worlds/shard-world.ts'
import { textOp, TextShard, WORDS } from '../../../../support/worlds/text-shard.ts'

const { seed } = parseTestSettings(process.env)
const KEYS = 40
const ROUNDS = 6
const WRITES_PER_ROUND = 40
const WAIT_MS = 60_000

const settings: EmbeddingsSettings = {
  external: true,
  sparse: false,
  dimension: 2,
  metric: 'l2_squared',
  engine: 'usearch',
  quantization: 'f32',
}
const VEC: IndexDefinition = {
  id: '0123456789abcdef',
  kind: 'vectors',
  name: 'vec',
  memOnly: false,
  settings,
}

/** The documents as they should be: undefined for one without a vector. */
type Model = Map<string, readonly [number, number] | undefined>

function put(key: string, vector: readonly [number, number] | undefined): WriteOp {
  const op = textOp(key, 'tide')
  return vector === undefined ? op : { ...op, artifacts: [vectorWrite(VEC.id, ...vector)] }
}

/** One write, in the model as well. */
function nextOp(random: Random, model: Model): WriteOp {
  const key = `k${Math.floor(random() * KEYS)}`
  const vector = [Math.floor(random() * 1000), Math.floor(random() * 1000)] as const
  const choice = random()
  if (choice < 0.2) {
    model.delete(key)
    return deleteOp(key)
  }
  if (!model.has(key) || choice < 0.5) {
    const given = choice < 0.4 ? undefined : vector
    model.set(key, given ?? model.get(key))
    return put(key, given)
  }
  const given = choice < 0.65 ? undefined : vector
  model.set(key, given)
  const gone = { index: VEC.id, artifact: undefined }
  const artifacts = [given === undefined ? gone : vectorWrite(VEC.id, ...given)]
  return { kind: 'artifacts', key: Buffer.from(key), artifacts }
}

/** By key, how far each vector of the index is from the origin. */
async function found(text: TextShard): Promise<ReadonlyMap<string, number>> {
  await text.caughtUp()
  const asked = {
    kind: 'vectors',
    question: 'nearest',
    request: { vector: Float32Array.of(0, 0), limit: KEYS + 1, effort: 1, nowMs: 0 },
  } as const
  const deadlineMs = systemClock.monotonicMs() + WAIT_MS
  const limits = { signal: AbortSignal.timeout(WAIT_MS), deadlineMs }
  const { keyEnds, keys, distances } = await text.shard.search(VEC.name, asked, limits)
  const names = [...keyEnds].map((end, at) =>
    Buffer.from(keys.subarray(keyEnds[at - 1] ?? 0, end)).toString(),
  )
  return new Map(names.map((name, at) => [name, distances[at] ?? NaN]))
}

function expected(model: Model): ReadonlyMap<string, number> {
  const vectors = [...model].flatMap(([key, vector]) =>
    vector === undefined ? [] : [[key, vector[0] ** 2 + vector[1] ** 2] as const],
  )
  return new Map(vectors)
}

describe(`an index of vectors (QUARRY_TEST_SEED=${seed})`, () => {
  it('holds exactly the vectors of the documents, over restarts and builds', async () => {
    const random = seededRandom(seed)
    const model: Model = new Map()
    await using text = await TextShard.open({ indexes: [WORDS, VEC] })
    for (let round = 0; round < ROUNDS; round++) {
      for (let at = 0; at < WRITES_PER_ROUND; at++) await text.write(nextOp(random, model))
      expect(await found(text), `round ${round}`).to.deep.equal(expected(model))
      await text.close()
      // Every other time the index is dropped and built again from the artifacts.
      if (round % 2 === 1) {
        await text.open({ indexes: [WORDS] })
        await text.close()
      }
      await text.open({ indexes: [WORDS, VEC] })
    }

    expect(await found(text)).to.deep.equal(expected(model))
    expect(await text.find('tide')).to.have.length(model.size)
  }).timeout(240_000)
})
