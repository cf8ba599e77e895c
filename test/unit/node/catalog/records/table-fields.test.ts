import { expect } from 'chai'
import { systemClock } from '../../../../../lib/clock.ts'
import { EmbeddedCoordination } from '../../../../../node/coordination/embedded-coordination.ts'
import type {
  Commit,
  CommitOutcome,
  Coordination,
} from '../../../../../node/coordination/coordination.ts'
import { FieldCatalog } from '../../../../../node/catalog/records/field-catalog.ts'
import { StoredTableFields } from '../../../../../node/catalog/records/stored-table-fields.ts'
import { MemoryKvStore } from '../../../../../node/storage/memory-kv-store.ts'
import { describeTableFields, fieldOf } from '../../../../conformance/table-fields.ts'
import { MemoryTableFields } from '../../../../support/fakes/memory-table-fields.ts'
import { errorOf } from '../../../../support/error-of.ts'

const TABLE = '00112233445566ff'

const inMemory = (): Coordination => new EmbeddedCoordination(new MemoryKvStore(), systemClock)

async function pagesOf(coordination: Coordination): Promise<readonly string[]> {
  const { entries } = await coordination.list('/table-fields/')
  return entries.map(({ key }) => key)
}

describeTableFields('in memory', async () => {
  const fields = new MemoryTableFields()
  return { open: async () => fields }
})

describeTableFields('stored', async () => {
  const coordination = inMemory()
  return { open: async () => new StoredTableFields(coordination, TABLE) }
})

/** Commits and fails to say so. */
class SilentCoordination extends EmbeddedCoordination {
  override async commit(commit: Commit): Promise<CommitOutcome> {
    await super.commit(commit)
    throw new RangeError('the answer was lost')
  }
}

describe('StoredTableFields', () => {
  it('writes pages of a bounded size', async () => {
    const coordination = inMemory()
    const fields = new StoredTableFields(coordination, TABLE)

    for (let batch = 0; batch < 40; batch += 1) {
      const names = Array.from({ length: 30 }, (_, at) => `${'x'.repeat(40)}${batch}-${at}`)
      await fields.propose(names.map((name) => fieldOf(name)))
    }

    const { entries } = await coordination.list('/table-fields/')
    expect(entries.length).to.be.within(4, 12)
    for (const { value } of entries) expect(value.length).to.be.below(32 * 1024)
    const again = new StoredTableFields(coordination, TABLE)
    await again.load()
    expect(again.known).to.deep.equal(fields.known)
  })

  it('appends to a page that another writer began', async () => {
    const coordination = inMemory()
    const [one, other] = [1, 2].map(() => new StoredTableFields(coordination, TABLE))
    const many = Array.from({ length: 500 }, (_, at) => fieldOf(`${'x'.repeat(60)}${at}`))
    await one!.propose([fieldOf('a')])
    await other!.load()
    await one!.propose(many)
    await one!.propose([fieldOf('b')])

    await other!.propose([fieldOf('a', 'number'), fieldOf('c')])
    await one!.load()

    expect(await pagesOf(coordination)).to.have.length(2)
    expect(other!.known).to.deep.equal(one!.known)
    expect(other!.known.at(-1)).to.deep.equal(fieldOf('c'))
  })

  it('learns the outcome of an addition whose answer was lost', async () => {
    const silent = new SilentCoordination(new MemoryKvStore(), systemClock)
    const fields = new StoredTableFields(silent, TABLE)

    const error = await errorOf(() => fields.propose([fieldOf('a', 'number')]))
    await fields.propose([fieldOf('a', 'string')])

    expect(error).to.be.instanceOf(RangeError)
    expect(fields.known).to.deep.equal([fieldOf('a', 'number')])
  })
})

describe('StoredTableFields of a store that went back', () => {
  it('refuse to add fields, instead of trying without end', async () => {
    const coordination = inMemory()
    const fields = new StoredTableFields(coordination, TABLE)
    await fields.propose([fieldOf('a')])
    const [page = ''] = await pagesOf(coordination)
    await coordination.commit({ when: [], changes: [{ type: 'delete', key: page }] })

    const error = await errorOf(() => fields.propose([fieldOf('b')]))

    expect(error).to.include({ code: 'UNAVAILABLE' })
    expect(fields.known).to.deep.equal([fieldOf('a')])
  })
})

describe('FieldCatalog', () => {
  it('removes the lists of dropped tables, and no others', async () => {
    const coordination = inMemory()
    const catalog = new FieldCatalog(coordination)
    await catalog.of('1').propose([fieldOf('a')])
    await catalog.of('11').propose([fieldOf('a')])

    await catalog.remove('1')

    expect(await pagesOf(coordination)).to.deep.equal(['/table-fields/11/000000'])
    await catalog.of('1').load()
    expect(catalog.of('1').known).to.deep.equal([])
  })
})
