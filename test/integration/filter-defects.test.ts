// Defects planted in one of the ways by which filters are answered: one line of the code each, that the comparison of
// all ways must show, in a shard or through the operations of the API.

import { expect } from 'chai'
import type { FilterDoors } from '../support/loads/filter-doors.ts'
import type { FilterVerdicts } from '../support/loads/filter-verdicts.ts'
import type { THIS_PROCESS } from '../support/places/this-process.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import { plantCopy, type Defect } from '../support/simulation/planted-copy.ts'
import { FILTERS } from '../support/worlds/filter-world.ts'

const FOLDERS = {
  copied: ['node', 'test/support'],
  linked: ['lib', 'cli', 'door', 'openapi', 'inference', 'node_modules', 'package.json', 'clients'],
}
const TEXT = 'index/text'

/** Found in one shard. */
const IN_SHARDS: Readonly<Record<string, Defect>> = {
  'a count that has deleted documents in it': {
    file: `${TEXT}/matching/segment-search.ts`,
    text: '? this.#liveCount(live)',
    instead: '? term.cursor.source.docFreq',
  },
  'deleted documents that pass a filter': {
    file: `${TEXT}/matching/accepted-documents.ts`,
    text: 'if (live.log.length > 0) subtract(bits, live.deleted)',
    instead: 'if (live.log.length > 1000) subtract(bits, live.deleted)',
  },
  'an exclusion that takes a missing value for false': {
    file: `${TEXT}/search/condition-resolver.ts`,
    text: 'const must = filters.length === 0 ? [EVERYTHING] : filters',
    instead:
      "const must = filters.length === 0 ? mustNot.map((one): EngineQuery => 'field' in one ? " +
      "{ kind: 'exists', field: one.field, boost: 1 } : EVERYTHING) : filters",
  },
  'an upper bound that is left out where a whole column is tested': {
    file: `${TEXT}/matching/column-test.ts`,
    text: 'addInRange(bits, from, { ...chunk, ...range })',
    instead: 'addInRange(bits, from, { ...chunk, ...range, max: range.max - 1 })',
  },
  'documents of a batch that decide for each other': {
    file: `${TEXT}/documents/document-tester.ts`,
    text: 'const name = JSON.stringify(own)',
    instead: 'const name = String(own.length)',
  },
  'long documents whose dotted names are read in one way': {
    file: `${TEXT}/documents/asked-members.ts`,
    text: "return steps.map((_, end) => steps.slice(0, end + 1).join('.'))",
    instead: 'return steps.slice(0, 1)',
  },
  'a refusal in one way only': {
    file: `${TEXT}/documents/document-tester.ts`,
    text: "const unfit = mapping === this.#mapping ? 'refused' : 'unmatched'",
    instead: "const unfit = 'unmatched'",
  },
  'letters that are put together in all lists but one': {
    file: `${TEXT}/mapping/resolve-any-of.ts`,
    text: "field.kind === 'keyword' ? values.map((text) => CANONICAL.term(text)) : values",
    instead: 'values',
  },
  'days that are rounded in all forms but one': {
    file: `${TEXT}/mapping/resolve-any-of.ts`,
    text: 'max: day, inclusiveMin: true, inclusiveMax: true',
    instead: 'max: day, inclusiveMin: true, inclusiveMax: false',
  },
  'a choice that is free beside an exclusion, where nothing is scored': {
    file: `${TEXT}/matching/matching-set.ts`,
    text: 'if (neededShould(query) === 1) {',
    instead: 'if (neededShould(query) === 1 && query.mustNot.length === 0) {',
  },
}

/** Found through the operations of the API. */
const THROUGH_DOORS: Readonly<Record<string, Defect>> = {
  'vectors that exclude nothing': {
    file: 'search/hits/filtered-nearest.ts',
    text: 'const conditions = conditionsOf(this.#run.request, undefined)',
    instead: 'const conditions = conditionsOf({ ...this.#run.request, exclusion: undefined }, undefined)',
  },
  'vectors without a full-text index that exclude nothing': {
    file: 'search/hits/filtered-nearest.ts',
    text: 'const conditions = conditionsOf(request, undefined)',
    instead: 'const conditions = conditionsOf({ ...request, exclusion: undefined }, undefined)',
  },
  'a selection that outlives the documents in it': {
    file: `${TEXT}/search/run-text-select.ts`,
    text: '${snapshot.versionAt(nowMs)} `',
    instead: '`',
  },
  'a scan whose limit counts before its filter': {
    file: 'reads/scan-lines.ts',
    text: 'if (tester !== undefined) await rows.keepPassing(tester, clock)',
    instead: 'if (tester !== undefined && left === Infinity) await rows.keepPassing(tester, clock)',
  },
  'facets beside the filter': {
    file: `${TEXT}/search/run-text-search.ts`,
    text: 'yield* this.#aggregate(match)',
    instead: 'yield* this.#aggregate({ nowMs: match.nowMs, query: match.query })',
  },
} // prettier-ignore

type Load = ReturnType<typeof plantCopy>

/** The first difference in a shard of a planted copy. */
async function differenceInShard(load: Load): Promise<string | undefined> {
  interface Module {
    readonly FilterVerdicts: new () => FilterVerdicts
  }
  const { FilterVerdicts: Verdicts } = await load<Module>('test/support/loads/filter-verdicts.ts')
  const verdicts = new Verdicts()
  for (const filter of FILTERS) {
    const difference = verdicts.differenceOf(filter)
    if (difference !== undefined) return difference
  }
  return verdicts.differenceOfSpellings()
}

/** The first difference between operations of a planted copy that serves. */
async function differenceOfDoors(load: Load): Promise<string | undefined> {
  interface Doors {
    readonly FilterDoors: new (client: StoreClient) => FilterDoors
  }
  interface Place {
    readonly THIS_PROCESS: typeof THIS_PROCESS
  }
  const { FilterDoors: Doors } = await load<Doors>('test/support/loads/filter-doors.ts')
  const { THIS_PROCESS: place } = await load<Place>('test/support/places/this-process.ts')
  await using store = await place.open()
  using client = new StoreClient(() => store.api)
  const doors = new Doors(client)
  await doors.fill()
  const some = FILTERS.filter((_, at) => at % 67 === 0)
  const look = async (): Promise<string | undefined> =>
    (await doors.differenceOfCounts(some)) ??
    (await doors.differenceOfBareDoors(some)) ??
    (await doors.differenceOfDoors(some))
  const first = await look()
  if (first !== undefined) return first
  await doors.deleteTwins()
  const second = await look()
  if (second !== undefined) return second
  await doors.writeTwins()
  return await look()
}

/** So that what is shown is shown by the defect. */
const NONE: Defect = {
  file: `${TEXT}/matching/segment-search.ts`,
  text: '? this.#liveCount(live)',
  instead: '? this.#liveCount(live)',
}

describe('a filter with two meanings', () => {
  it('is not shown by a copy without a defect', async () => {
    const load = plantCopy(FOLDERS, NONE)

    expect(await differenceInShard(load)).to.equal(undefined)
    expect(await differenceOfDoors(load)).to.equal(undefined)
  }).timeout(0)

  for (const [what, defect] of Object.entries(IN_SHARDS)) {
    it(`is shown by ${what}`, async () => {
      expect(await differenceInShard(plantCopy(FOLDERS, defect))).to.be.a('string')
    }).timeout(0)
  }

  for (const [what, defect] of Object.entries(THROUGH_DOORS)) {
    it(`is shown by ${what}, through the doors`, async () => {
      expect(await differenceOfDoors(plantCopy(FOLDERS, defect))).to.be.a('string')
    }).timeout(0)
  }
})
