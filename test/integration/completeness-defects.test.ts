// Defects planted in the count of what indexes lack: one line of production code each, that the rounds of
// completeness.test.ts must show.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import {
  FalsePromise,
  FAULTS,
  runCompleteness,
  type Fault,
} from '../support/loads/completeness-rounds.ts'
import { plantFiles, type Defect } from '../support/simulation/planted-copy.ts'

const FOLDERS = {
  copied: ['node', 'cli', 'bin'],
  linked: ['lib', 'door', 'openapi', 'inference', 'node_modules', 'package.json'],
}
/** A fault lasts for moments, so a run may miss it. */
const RUNS_MAX = 3

/** A defect, and the faults that are likely to show it. */
interface Shown extends Defect {
  readonly by?: readonly Fault[]
}

const DEFECTS: Readonly<Record<string, Shown>> = {
  'a count where documents are sent, not where they are taken': {
    file: 'shard/following/documents-behind.ts',
    text: 'return shard.tally.behind(applied, tallied) ?? shard.documentsMax',
    instead: 'return applied < 0 || tallied === undefined ? shard.documentsMax : 0',
  },
  'a count that forgets what is committed and not in the store': {
    file: 'shard/shard-state.ts',
    text: 'this.tally.note(sequence, tallyOfEffects(entry.effects))',
    instead: 'if (sequence < 0) this.tally.note(sequence, tallyOfEffects(entry.effects))',
  },
  'a kind that is left out: vectors that the store makes': {
    file: 'shard/following/documents-behind.ts',
    text: 'isEnriched(index) ? unmade(shard, index.id) : NOTHING',
    instead: 'isEnriched(index) && shard.documentsMax < 0 ? unmade(shard, index.id) : NOTHING',
  },
  'a progress of the walk alone': {
    file: 'shard/following/documents-behind.ts',
    text: 'if (waiting === 0) return built',
    instead: 'if (waiting >= 0) return built',
  },
  'a readiness that counts only while an index is built': {
    file: 'steering/index-summary.ts',
    text: 'documentsBehind += documentsBehindOf(table, led)',
    instead: 'if (counts.building > 0) documentsBehind += documentsBehindOf(table, led)',
  },
  'a build that counts only what came since it began': {
    file: 'shard/following/documents-behind.ts',
    text: 'return state.backfill.left(shard.documentsMax) + ',
    instead: 'return ',
    by: ['load', 'recreate'],
  },
  'a progress that is reported when vectors are made': {
    file: 'shard/following/documents-behind.ts',
    text: 'waiting: taken.waiting + waiting + textsUnmade(shard, index),',
    instead:
      'waiting: (isEnriched(index) ? 0 : taken.waiting) + waiting + textsUnmade(shard, index),',
  },
  'a table that is as far as its furthest shard': {
    file: 'catalog/answers/index-status.ts',
    text: 'documents_behind: sum(({ documents_behind }) => documents_behind),',
    instead:
      'documents_behind: Math.min(...shards.map(({ documents_behind }) => documents_behind)),',
    by: ['load', 'recreate'],
  },
  'a shard that is as far as its furthest index': {
    file: 'shard/replica.ts',
    text: 'return Math.max(0, ...counts)',
    instead: 'return counts.length === 0 ? 0 : Math.min(...counts)',
  },
  'answers that do not tell': {
    file: 'shard/local-shard.ts',
    text: 'if (behind > 0) onBehind(behind)',
    instead: 'if (behind < 0) onBehind(behind)',
  },
}

async function runWith(defect: Shown): Promise<unknown> {
  const root = plantFiles(FOLDERS, defect)
  const bin = path.join(root, 'bin/quarry')
  const likely = defect.by ?? ['load', 'long texts']
  for (let seed = 1; seed <= RUNS_MAX; seed++) {
    const faults = seed === 1 ? likely : FAULTS
    const dataDir = await mkdtemp(path.join(tmpdir(), 'quarry-complete-'))
    try {
      await runCompleteness({ dataDir, seed, faults, bin })
    } catch (error) {
      return error
    } finally {
      await rm(dataDir, { recursive: true, force: true })
    }
  }
  return undefined
}

describe('a false promise of completeness', () => {
  for (const [what, defect] of Object.entries(DEFECTS)) {
    it(`is shown by ${what}`, async () => {
      expect(await runWith(defect)).to.be.instanceOf(FalsePromise)
    }).timeout(0)
  }
})
