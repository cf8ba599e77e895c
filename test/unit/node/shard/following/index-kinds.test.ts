// An index of a kind that shard and host have never heard of, through both of them.

import { expect } from 'chai'
import { systemClock } from '../../../../../lib/clock.ts'
import type { IndexDefinition } from '../../../../../node/index/host/index-definition.ts'
import { INDEX_KINDS } from '../../../../../node/index/kinds/index-kinds.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { EXACT_KIND } from '../../../../support/fakes/exact-index.ts'
import {
  openTestPool,
  textOp,
  textSearch,
  TextShard,
  WORDS,
} from '../../../../support/worlds/text-shard.ts'

const ENTRY = new URL('../../../../support/fakes/exact-index-worker.ts', import.meta.url)
const EXACT: IndexDefinition = {
  id: '0123456789abcdef',
  kind: 'exact',
  name: 'values',
  memOnly: false,
}

function openPool() {
  return openTestPool({ kinds: { ...INDEX_KINDS, exact: EXACT_KIND }, entry: ENTRY })
}

function limits() {
  const deadlineMs = systemClock.monotonicMs() + 240_000
  return { signal: AbortSignal.timeout(240_000), deadlineMs }
}

async function keysWith(text: TextShard, value: string | number): Promise<readonly string[]> {
  const request = { field: typeof value === 'number' ? 'n' : 'text', value }
  const asked = { kind: 'exact', question: 'search', request } as const
  const { keys } = await text.shard.search(EXACT.name, asked, limits())
  return keys
}

describe('an index of another kind', () => {
  it('follows the log beside a text index, and is searched through the shard', async () => {
    await using text = await TextShard.open({ pool: openPool(), indexes: [WORDS, EXACT] })
    await text.write(textOp('a', 'high tide', { n: 1 }), textOp('b', 'tide', { n: 2 }))
    await text.caughtUp()

    expect(await keysWith(text, 'tide')).to.deep.equal(['b'])
    expect(await keysWith(text, 1)).to.deep.equal(['a'])
    expect(await text.find('tide')).to.deep.equal(['a', 'b'])
    expect(await text.status(EXACT.name)).to.include({ totalIndexed: 2, rebuilding: false })
    expect(text.shard.led.indexHealth().map(({ kind }) => kind)).to.deep.equal(['text', 'exact'])
  }).timeout(240_000)

  it('is built from the table, and continues from its checkpoint after a restart', async () => {
    const indexes = [EXACT]
    await using text = await TextShard.open({ pool: openPool(), indexes: [] })
    await text.write(textOp('a', 'tide'))
    await text.close()
    await text.open({ indexes })
    await text.caughtUp()
    const built = await keysWith(text, 'tide')

    await text.close()
    await text.open({ indexes })
    await text.write(textOp('b', 'tide'))
    await text.caughtUp()

    expect(built).to.deep.equal(['a'])
    expect(await keysWith(text, 'tide')).to.deep.equal(['a', 'b'])
    expect(text.events).to.include({ firstBuilds: 1, rebuilds: 0, failures: 0 })
  }).timeout(240_000)

  it('refuses questions of other kinds', async () => {
    await using text = await TextShard.open({ pool: openPool(), indexes: [WORDS, EXACT] })

    const refusal = await errorOf(() => text.shard.search(EXACT.name, textSearch('tide'), limits()))

    expect(refusal).to.include({ code: 'INVALID_ARGUMENT' })
    expect(String(refusal)).to.contain('"values" is of kind exact')
  }).timeout(240_000)
})
