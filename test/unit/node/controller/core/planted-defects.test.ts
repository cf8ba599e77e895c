import { expect } from 'chai'
import { InvariantError } from '../../../../../lib/assert.ts'
import type { ControllerCore as OurCore } from '../../../../../node/controller/core/controller-core.ts'
import type { MakeController } from '../../../../support/simulation/controller/simulated-controller.ts'
import {
  simulateController,
  type ControllerFault,
} from '../../../../support/simulation/controller/controller-simulation.ts'
import { plantCopy, type Defect } from '../../../../support/simulation/planted-copy.ts'
import { BrokenInvariant } from '../../../../support/simulation/replication-checker.ts'

const CORE = 'node/controller/core'
const LINKED = ['lib', 'node/replication', 'node/coordination']
const SEEDS_MAX = 300

interface PlantedDefect extends Defect {
  /** Those that it needs to show soon. */
  readonly faults: readonly ControllerFault[]
}

/** The simulation must find each of these. */
const DEFECTS: Readonly<Record<string, PlantedDefect>> = {
  'a controller that does not fence its changes': {
    file: 'planned-change.ts',
    text: 'when: [fence, ...own, ...when]',
    instead: 'when: [...own, ...when]',
    faults: ['depose', 'crash', 'restart', 'create'],
  },
  'a change that does not compare the configuration': {
    file: 'planned-change.ts',
    text: '    { key: configurationKey(path), modRevision: known.configuration?.revision ?? 0 },\n',
    instead: '',
    faults: ['crash', 'restart', 'trouble', 'drain'],
  },
  'an election of a replica that is not in sync': {
    file: 'decisions/elections.ts',
    text: "const fit = found.kind === 'fit' ? found.nodes : []",
    instead: "const fit = found.kind === 'fit' ? found.nodes : configuration.replicas",
    faults: ['crash', 'restart', 'slow', 'join', 'drain'],
  },
  // An answer from before a restart is refused twice, by its life and by its round: either alone is enough.
  'an election that compares no ends of logs': {
    file: 'decisions/elections.ts',
    text: 'end: end?.incarnation === incarnation ? end : undefined,',
    instead: 'end: { sequence: 0, epoch: 0 },',
    faults: ['crash', 'restart', 'disk_back', 'disk_back_all'],
  },
  'an election that knows no lives': {
    file: 'decisions/elections.ts',
    text: '      incarnation,\n      isDamaged',
    instead:
      '      incarnation: incarnation === undefined ? undefined : replica.incarnation,\n      isDamaged',
    faults: ['crash', 'restart', 'disk_back'],
  },
  'an election of an eligible replica while the set is large enough': {
    file: 'decisions/elections.ts',
    text: 'const eligible = inSync.length >= configuration.minInSync ? [] : kept // CE3',
    instead: 'const eligible = kept',
    faults: ['crash', 'restart', 'replicate'],
  },
  'an election that trusts a damaged directory': {
    file: 'decisions/elections.ts',
    text: 'return live !== undefined && incarnation < live.wholeSince',
    instead: 'return live !== undefined && incarnation < 0',
    faults: ['crash', 'damage'],
  },
  'a leader without an epoch of its own': {
    file: 'records/configuration-edits.ts',
    text: 'epoch: before.epoch + 1, leader',
    instead: 'epoch: before.epoch, leader',
    faults: ['crash', 'restart'],
  },
  'a lower minimum that takes the eligible away too soon': {
    file: 'decisions/decide.ts',
    text: '  return present >= minInSync',
    instead: '  return minInSync < configuration.minInSync || present >= minInSync',
    faults: ['crash', 'restart', 'replicate', 'destroy'],
  },
  'a replica that goes before enough others are in sync': {
    file: 'decisions/move-steps.ts',
    text: 'return staying >= Math.max(1, configuration.minInSync)',
    instead: 'return staying >= 1',
    faults: ['crash', 'drain', 'destroy', 'join'],
  },
  'a trim that counts on those that are away': {
    file: 'decisions/move-steps.ts',
    text: 'return stayingWithout(configuration, node, cluster) >= Math.max(1, needed)',
    instead: 'return configuration.inSync.length > Math.max(1, needed)',
    faults: ['crash', 'restart', 'replicate', 'cut_off'],
  },
  'a new replica on a node that already has one': {
    file: 'decisions/replica-placement.ts',
    text: 'beside.includes(node.id) || without.includes(node.id)',
    instead: 'without.includes(node.id)',
    faults: ['crash', 'join', 'replicate'],
  },
  'new replicas on draining nodes': {
    file: 'view/node-view.ts',
    text: "if (state !== 'serving') return 'emptying'",
    instead: '',
    faults: ['drain', 'create', 'decommission'],
  },
  'a move to a draining node that was decided on an old view': {
    file: 'decisions/move-steps.ts',
    text: 'when: [whenAsStored(to), whenAlive(to)]',
    instead: 'when: [whenAlive(to)]',
    faults: ['drain', 'undrain', 'join', 'trouble', 'replicate'],
  },
  'moves without a limit for each node': {
    file: 'decisions/replica-placement.ts',
    text: 'return node.incoming < settings.movesPerNodeMax && fits',
    instead: 'return fits',
    faults: ['drain', 'join', 'slow'],
  },
  'a limit of moves that forgets those whose end has no outcome': {
    file: 'view/shard-view.ts',
    text: 'return this.planned?.move ?? this.known.move',
    instead: 'return this.move',
    faults: ['drain', 'join', 'trouble', 'crash'],
  },
  'changes without a limit': {
    file: 'change-budget.ts',
    text: 'return this.#available < 1',
    instead: 'return this.#available < -1e9',
    faults: ['zone', 'restart', 'create', 'drop'],
  },
  'a shared commit with the conditions of its first change alone': {
    file: 'planned-commit.ts',
    text: 'for (const condition of change.commit.when) this.#when',
    instead:
      'for (const condition of this.changes.length > 0 ? [] : change.commit.when) this.#when',
    faults: ['damage', 'restart', 'crash', 'trouble', 'slow'],
  },
  'a conflict of a shared commit that only the change that met it hears of': {
    file: 'controller-core.ts',
    text: '      this.#dropPlanned(shard, nowMs)\n      if (met',
    instead:
      '      if (met && !met.has(change)) { this.#committed(shard, 1e9, nowMs); continue }\n      this.#dropPlanned(shard, nowMs)\n      if (met',
    faults: ['crash', 'restart', 'trouble', 'zone'],
  },
  'a placement that ignores zones': {
    file: 'decisions/replica-placement.ts',
    text: 'if (one.shared !== other.shared) return one.shared < other.shared',
    instead: '',
    faults: ['create', 'drop'],
  },
  'a move that is not given up when its target is gone': {
    file: 'decisions/move-steps.ts',
    text: "if (target === undefined || target.isAwayLong) return 'the node is away'",
    instead: '',
    faults: ['crash', 'destroy', 'drain', 'slow'],
  },
  'a lost node that is never replaced': {
    file: 'view/node-view.ts',
    text: 'this.#isOut || knownMs >= replaceAfterMs',
    instead: "state === 'decommissioned'",
    faults: ['destroy', 'join'],
  },
  'keys of dropped shards that stay': {
    file: 'decisions/decide.ts',
    text: "return shard.isForgotten ? undefined : 'discard'",
    instead: 'return undefined',
    faults: ['drop', 'create'],
  },
  'a hold that takes nothing away': {
    file: 'decisions/decide.ts',
    text: 'cluster.nodes.get(leader.node)?.takesLeaders === true',
    instead: 'cluster.nodes.get(leader.node)?.isPlaceable === true',
    faults: ['hold', 'join'],
  },
  'a balance that gives leaderships to nodes that are held': {
    file: 'decisions/balance-leaders.ts',
    text: 'return isSettled && !isHeld',
    instead: 'return isSettled || isHeld',
    faults: ['hold', 'join'],
  },
  'a hand-over from one node that is held to another one': {
    file: 'decisions/elections.ts',
    text: 'const takers = free.length > 0 || stays ? free : fit',
    instead: 'const takers = fit',
    faults: ['hold', 'join'],
  },
  'a transfer that was decided before its target was held': {
    file: 'decisions/elections.ts',
    text: 'when: [whenAsStored(to), whenAlive(to)]',
    instead: 'when: [whenAlive(to)]',
    faults: ['hold', 'join', 'trouble', 'restart', 'crash'],
  },
  'a hold that never ends': {
    file: 'view/node-view.ts',
    text: 'this.isHeld = nowMs < this.heldUntilMs',
    instead: 'this.isHeld = this.heldUntilMs > 0 && this.stored?.record.hold !== undefined',
    faults: ['hold', 'join'],
  },
  'leaderships that are never balanced': {
    file: 'decisions/balance-leaders.ts',
    text: 'if (nodes.length < 2) return []',
    instead: 'if (nodes.length >= 0) return []',
    faults: ['crash', 'restart', 'join'],
  },
  'balancing that does not end': {
    file: 'decisions/balance-replicas.ts',
    text: 'return Math.max(2, Math.ceil(',
    instead: 'return Math.min(1, Math.ceil(',
    faults: ['join', 'crash', 'restart'],
  },
}

async function plantedController(defect: Defect): Promise<MakeController> {
  const load = plantCopy({ copied: [CORE], linked: LINKED }, defect)
  const { ControllerCore } = await load<{ ControllerCore: typeof OurCore }>(
    `${CORE}/controller-core.ts`,
  )
  return (start) => new ControllerCore(start)
}

function seedOfDiscovery(make: MakeController, faults: readonly ControllerFault[]): number {
  for (let seed = 1; seed <= SEEDS_MAX; seed++) {
    try {
      simulateController({ seed, faults, make })
    } catch (error) {
      if (error instanceof BrokenInvariant || error instanceof InvariantError) return seed
      throw error
    }
  }
  return Infinity
}

describe('the simulation of the controller', () => {
  for (const [name, { faults, ...defect }] of Object.entries(DEFECTS)) {
    it(`finds ${name}`, async () => {
      const make = await plantedController(defect)

      expect(seedOfDiscovery(make, faults)).to.be.at.most(SEEDS_MAX)
    })
  }
})
