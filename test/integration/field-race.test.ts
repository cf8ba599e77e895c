import { AssertionError, expect } from 'chai'
import { isServiceError } from '../../lib/errors.ts'
import { StoredTableFields } from '../../node/catalog/records/stored-table-fields.ts'
import { TABLE_FIELDS_MAX, type TableField } from '../../node/schema/table-field.ts'
import { MemoryTableFields } from '../support/fakes/memory-table-fields.ts'
import { raceForFields, type OpenFields } from '../support/worlds/field-race-run.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'

const { seed: baseSeed } = parseTestSettings(process.env)
const SEEDS = 2
const SEEDS_MAX = 4
const TABLE = '00112233445566ff'

/** A list that other nodes know in another order. */
class ReorderedFields extends StoredTableFields {
  override get known(): readonly TableField[] {
    return super.known.toReversed()
  }
}

/** A list that says that it has added names before it has. */
class HastyFields extends StoredTableFields {
  #hasty: readonly TableField[] = []

  override get known(): readonly TableField[] {
    const known = super.known
    const names = new Set(known.map(({ path }) => path.join('.')))
    return [...known, ...this.#hasty.filter(({ path }) => !names.has(path.join('.')))]
  }

  override async propose(fields: readonly TableField[]): Promise<void> {
    if (this.known.length < TABLE_FIELDS_MAX / 2) return super.propose(fields)
    this.#hasty = [...this.#hasty, ...fields]
  }
}

const own = new Map<number, MemoryTableFields>()
const DEFECTS: Readonly<Record<string, OpenFields>> = {
  'a list of each node alone': (_, node) => {
    const fields = own.get(node) ?? new MemoryTableFields()
    own.set(node, fields)
    return fields
  },
  'another order of names': (coordination, node) =>
    node === 0
      ? new ReorderedFields(coordination, TABLE)
      : new StoredTableFields(coordination, TABLE),
  'names that are used before they are kept': (coordination) =>
    new HastyFields(coordination, TABLE),
}

/** Any other error than that of a comparison, or of an index that does not fit its table, is not a find. */
async function differencesIn(seed: number, openFields: OpenFields): Promise<number> {
  try {
    await raceForFields(seed, openFields)
    return 0
  } catch (error) {
    const isShown = error instanceof AssertionError
    if (isShown || (isServiceError(error) && error.code === 'CORRUPTION')) return 1
    throw error
  }
}

describe(`the names of a table with too many fields (QUARRY_TEST_SEED=${baseSeed})`, () => {
  it(`are the same for all replicas of all shards, in ${SEEDS} races with kills and rebuilds`, async () => {
    let [kills, rebuilds] = [0, 0]
    for (let seed = baseSeed; seed < baseSeed + SEEDS; seed += 1) {
      const race = await raceForFields(seed)
      kills += race.kills
      rebuilds += race.rebuilds
      expect(race.names, `QUARRY_TEST_SEED=${seed}: the list is full`).to.equal(TABLE_FIELDS_MAX)
    }
    expect(kills, 'the races have to be of use').to.be.above(3 * SEEDS)
    expect(rebuilds).to.be.above(0)
  }).timeout(240_000)

  for (const [what, openFields] of Object.entries(DEFECTS)) {
    it(`are shown to differ with ${what}`, async () => {
      let found = 0
      for (let seed = baseSeed; seed < baseSeed + SEEDS_MAX && found === 0; seed += 1) {
        own.clear()
        found += await differencesIn(seed, openFields)
      }
      expect(found, 'a defect has to be found').to.equal(1)
    }).timeout(240_000)
  }
})
