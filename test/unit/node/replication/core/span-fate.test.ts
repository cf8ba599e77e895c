import { expect } from 'chai'
import { LogIndex, type EntryInfo } from '../../../../../node/replication/core/log-index.ts'
import { fateOfSpan, type SpanFate } from '../../../../../node/replication/core/span-fate.ts'

const START = { sequence: 0, epoch: 0, crc: 0 }

function entry(sequence: number, epoch = 1): EntryInfo {
  return { sequence, epoch, crc: sequence * 10 + epoch, bytes: 100 }
}

/** What the leader of epoch 1 had appended and not committed when it stopped. */
const SPAN = { first: entry(3), last: entry(4) }
const KEPT = [1, 2, 3, 4].map((sequence) => entry(sequence))

interface Case {
  readonly entries: readonly EntryInfo[]
  readonly committed: number
  /** Entries up to here left the log. */
  readonly dropped?: number
  readonly fate: SpanFate
}

const CASES: Readonly<Record<string, Case>> = {
  'nobody has committed anything since': { entries: KEPT, committed: 2, fate: 'open' },
  'a part of it is committed': { entries: KEPT, committed: 3, fate: 'open' },
  'the same epoch commits it after all': { entries: KEPT, committed: 4, fate: 'committed' },
  'a successor that has it has committed nothing of its own': {
    entries: [...KEPT, entry(5, 2)],
    committed: 2,
    fate: 'open',
  },
  'a successor commits it and its own first entry': {
    entries: [...KEPT, entry(5, 2)],
    committed: 5,
    fate: 'committed',
  },
  'a successor has taken it back, and committed nothing': {
    entries: [entry(1), entry(2), entry(3, 2)],
    committed: 2,
    fate: 'open',
  },
  'a successor has committed its own entry in its place': {
    entries: [entry(1), entry(2), entry(3, 2), entry(4, 2)],
    committed: 3,
    fate: 'nothing',
  },
  'a successor has committed its first entries alone': {
    entries: [entry(1), entry(2), entry(3), entry(4, 2)],
    committed: 4,
    fate: 'unknown',
  },
  'the log ends before it in a newer epoch': {
    entries: [entry(1), entry(2, 2)],
    committed: 2,
    fate: 'nothing',
  },
  'the log begins behind its first entry': {
    entries: [entry(1), entry(2), entry(3, 2), entry(4, 2)],
    committed: 4,
    dropped: 3,
    fate: 'unknown',
  },
  'the log begins with its last entry': {
    entries: [...KEPT, entry(5, 2)],
    committed: 5,
    dropped: 4,
    fate: 'committed',
  },
}

describe('fateOfSpan', () => {
  for (const [name, { entries, committed, dropped = 0, fate }] of Object.entries(CASES)) {
    it(`answers "${fate}" when ${name}`, () => {
      const log = new LogIndex(START, entries)
      log.dropThrough(dropped)

      expect(fateOfSpan(SPAN, { log, committed })).to.equal(fate)
    })
  }
})
