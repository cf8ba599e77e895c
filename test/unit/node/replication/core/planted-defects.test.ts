import { expect } from 'chai'
import { InvariantError } from '../../../../../lib/assert.ts'
import type { ReplicationTiming } from '../../../../../node/replication/core/timing.ts'
import type { Defect } from '../../../../support/simulation/planted-copy.ts'
import { plantDefect } from '../../../../support/simulation/planted-defect.ts'
import { BrokenInvariant } from '../../../../support/simulation/replication-checker.ts'
import type { ReplicationModules } from '../../../../support/simulation/replication-modules.ts'
import {
  simulateReplication,
  type Fault,
} from '../../../../support/simulation/replication-simulation.ts'

const SEEDS_MAX = 400

interface PlantedDefect extends Defect {
  /** Those that it needs to show soon. */
  readonly faults: readonly Fault[]
  /** Other timing, where two rules guard the same promise and one alone is to be tried. */
  readonly timing?: Partial<ReplicationTiming>
  /** How long faults last, for defects that short ones do not show. */
  readonly faultMs?: number
}

/** A laggard leaves before its grants are over, so that the grants alone guard reads. */
const QUICK_REMOVAL = { lagMaxMs: 750, grantMs: 4000 }

/** The simulation must find each of these. */
const DEFECTS: Readonly<Record<string, PlantedDefect>> = {
  'a leader that commits what is on its own disk alone': {
    file: 'leader.ts',
    text: 'reached = Math.min(reached, matched)',
    instead: 'void matched',
    faults: ['crash', 'hand_over'],
  },
  'a leader that commits below the minimum': {
    file: 'leader.ts',
    text: '    if (this.isBelowMinimum) return\n    let reached',
    instead: '    let reached',
    faults: ['crash', 'partition', 'lease_errors'],
    faultMs: 700,
  },
  'a follower that acknowledges before its disk has it': {
    file: 'follower.ts',
    text: 'const durable = Math.min(this.#with.durable, this.#matched)',
    instead: 'const durable = this.#matched',
    faults: ['slow_disk', 'slow_disk', 'slow_disk', 'disk_back_restart_all'],
    faultMs: 60,
  },
  'a follower that appends behind a gap of knowledge': {
    file: 'follower.ts',
    text: 'if (joint === undefined || !log.has(joint)) return',
    instead: 'if (joint === undefined || log.last.sequence < joint.sequence) return',
    faults: ['hand_over', 'crash', 'bad_network'],
  },
  'a log that takes entries for equal by their numbers': {
    file: 'log-index.ts',
    text: 'own.epoch === epoch && own.crc === crc',
    instead: 'epoch >= 0 && crc >= 0',
    faults: ['hand_over', 'crash', 'bad_network'],
  },
  'a follower that takes entries of leaders it heard the end of': {
    file: 'replica-core.ts',
    text: 'if (epoch < this.#heard) {',
    instead: 'if (epoch < 0) {',
    faults: ['hand_over', 'bad_network'],
  },
  'a promise made while a grant runs': {
    file: 'replica-core.ts',
    text: 'if (epoch > FIRST_EPOCH && (this.#grantUntilMs ?? Infinity) > nowMs) return',
    instead: 'if (nowMs < 0) return',
    faults: ['hand_over', 'partition', 'pause'],
    timing: QUICK_REMOVAL,
  },
  'a laggard that stops counting before the control plane knows': {
    file: 'leader.ts',
    text: 'if (node === this.#with.self.node) continue',
    instead:
      "if (node === this.#with.self.node || (this.#pending?.kind === 'remove' && this.#pending.replica.node === node)) continue",
    faults: ['partition', 'lost_answers', 'control_plane_away', 'crash'],
  },
  'reads that need no grant': {
    file: 'leader-reads.ts',
    text: 'if (isEnough) return',
    instead: 'if (isEnough || nowMs > 0) return',
    faults: ['pause', 'partition', 'hand_over'],
    timing: QUICK_REMOVAL,
    faultMs: 2500,
  },
  'reads before the first entry of the epoch is committed': {
    file: 'leader.ts',
    text: 'if (!this.isServing) return this.#with.emit(',
    instead: 'if (this.#first === undefined) return this.#with.emit(',
    faults: ['crash', 'hand_over', 'bad_network', 'slow_disk'],
  },
  'a leader that takes for gone what it had to take back, before that is committed': {
    file: 'span-fate.ts',
    text: 'if (reached === undefined || reached.epoch <= last.epoch) return',
    instead: 'if (log.has(last)) return',
    faults: ['hand_over', 'bad_network'],
  },
  'a leader that takes for gone what a snapshot has': {
    file: 'span-fate.ts',
    text: 'first.sequence <= log.base.sequence || ',
    instead: '',
    faults: ['pause', 'partition', 'hand_over', 'dropped_log'],
  },
  'a leader that takes for gone a group of which the first entries are there': {
    file: 'span-fate.ts',
    text: ' || log.has(first)',
    instead: '',
    faults: ['hand_over', 'bad_network', 'partition'],
  },
  'a leader that takes for committed what another one has taken back': {
    file: 'span-fate.ts',
    text: ' && log.has(last)',
    instead: '',
    faults: ['hand_over', 'bad_network'],
  },
  'a leader that is named for a life after the one in sync': {
    file: 'fit-leaders.ts',
    text: 'return incarnation === replica.incarnation && !isDamaged',
    instead: 'return incarnation !== undefined && !isDamaged',
    faults: ['disk_back'],
  },
  'a leader that is named although another log ends later': {
    file: 'fit-leaders.ts',
    text: 'return fit(known.filter(isLast))',
    instead: 'return fit(known.filter((replica) => isLast(replica) || known.length > 0))',
    faults: ['disk_back_restart_all'],
  },
  'a leader that is named by the number of its entries': {
    file: 'fit-leaders.ts',
    text: 'return one.epoch - other.epoch || one.sequence',
    instead: 'return one.sequence',
    faults: ['disk_back_restart_all', 'hand_over', 'partition', 'slow_disk'],
    faultMs: 300,
  },
  'a leader that is named when nobody is there to compare it with': {
    file: 'fit-leaders.ts',
    text: "if (present.length === 1) return { kind: 'alone', node: first.node }",
    instead: 'if (present.length === 1) return fit([first])',
    faults: ['disk_back_restart_all', 'crash'],
  },
  'a leader that waits no more for a replica that is about to stop, before the control plane knows':
    {
      file: 'leader.ts',
      text: 'if (node === this.#with.self.node) continue',
      instead: 'if (node === this.#with.self.node || this.#with.leaving.has(node)) continue',
      faults: ['leave', 'crash', 'hand_over', 'control_plane_away'],
    },
  'a change that is asked for once': {
    file: 'leader.ts',
    text: '    this.#askAgain()\n',
    instead: '',
    faults: ['bad_network', 'lost_answers', 'crash', 'partition'],
  },
}

function seedOfDiscovery(
  modules: ReplicationModules,
  { faults, faultMs: wanted }: Pick<PlantedDefect, 'faults' | 'faultMs'>,
): number {
  for (let seed = 1; seed <= SEEDS_MAX; seed++) {
    try {
      const faultMs = wanted ?? (seed % 2 === 0 ? 700 : 150)
      simulateReplication({ seed, faults, modules, faultMs })
    } catch (error) {
      if (error instanceof BrokenInvariant || error instanceof InvariantError) return seed
      throw error
    }
  }
  return Infinity
}

describe('the simulation of replication', () => {
  for (const [name, defect] of Object.entries(DEFECTS)) {
    it(`finds ${name}`, async () => {
      const modules = await plantDefect(defect, defect.timing)

      expect(seedOfDiscovery(modules, defect)).to.be.at.most(SEEDS_MAX)
    })
  }
})
