import { crc32 } from 'node:zlib'
import type { NodeId, ReplicaId } from '../../../node/replication/core/configuration.ts'
import type { Effect } from '../../../node/replication/core/effects.ts'
import type { EntryInfo, LogPosition } from '../../../node/replication/core/log-index.ts'
import type { AppendOrder, ReplicationMessage } from '../../../node/replication/core/messages.ts'
import type { Input, ReplicaCore } from '../../../node/replication/core/replica-core.ts'
import type { EntrySpan } from '../../../node/replication/core/span-fate.ts'
import type { ReplicationModules } from './replication-modules.ts'
import { BrokenInvariant, type ReplicationChecker } from './replication-checker.ts'
import { SimulatedDisk } from './simulated-disk.ts'
import type { SimulatedControlPlane } from './simulated-control-plane.ts'
import type { SimulatedNetwork } from './simulated-network.ts'
import type { VirtualTime } from './virtual-time.ts'

export const CONTROL_PLANE = 'control-plane'
const TICK_MS = 50
const KEEP_ALIVE_MS = 1500
const POLL_MS = 800
/** The writes of a group, which have one fate when a leadership ends. */
const GROUP_MAX = 3

/** What all replicas of a simulation share. */
export interface Surroundings {
  readonly time: VirtualTime
  readonly network: SimulatedNetwork
  readonly controlPlane: SimulatedControlPlane
  readonly checker: ReplicationChecker
  readonly modules: ReplicationModules
  replica(node: NodeId): SimulatedReplica | undefined
}

const IO_KINDS = ['append', 'promise', 'send', 'replicate', 'snapshot', 'commit'] as const

type IoKind = (typeof IO_KINDS)[number]

interface WaitingWrite {
  readonly position: LogPosition
}

/** Writes of a leadership that is over, which have no answer yet. */
interface DeposedWrites extends EntrySpan {
  readonly writes: readonly WaitingWrite[]
}

/** A node with one replica: the shell around the core, in virtual time. */
export class SimulatedReplica {
  readonly node: NodeId
  readonly disk: SimulatedDisk
  readonly #in: Surroundings
  #core: ReplicaCore | undefined
  #incarnation = 0
  /** The first life after its disk went back: what it had in sync in an earlier one may be gone. */
  #backSince = 0
  #life = 0
  /** In memory: what the log on disk is becoming; those after `#base`. */
  #log: EntryInfo[] = []
  #base = 0
  #applied = 0
  #waiting: WaitingWrite[] = []
  #deposed: DeposedWrites[] = []
  readonly #reads = new Map<number, number>()
  #tokens = 0
  #payloads = 0
  #pausedUntilMs = 0
  #isInstalling = false
  readonly #inbox: (() => void)[] = []
  clock = { offsetMs: 0, rate: 1 }

  constructor(node: NodeId, surroundings: Surroundings) {
    this.node = node
    this.#in = surroundings
    this.disk = new SimulatedDisk(surroundings.time)
  }

  get isUp(): boolean {
    return this.#core !== undefined
  }

  get core(): ReplicaCore | undefined {
    return this.#core
  }

  get id(): ReplicaId {
    return { node: this.node, incarnation: this.#incarnation }
  }

  get log(): readonly EntryInfo[] {
    return this.#log
  }

  /** The entries up to here have left its log; the disk may not know it yet. */
  get base(): number {
    return this.#base
  }

  get isServing(): boolean {
    return this.#core?.admission === 'open'
  }

  start(): void {
    if (this.#core !== undefined) return
    this.#incarnation += 1
    this.#life += 1
    const { base, entries, promised, committed } = this.disk.durable
    const { LogIndex, ReplicaCore, timing } = this.#in.modules
    const log = new LogIndex(base, entries)
    this.#log = [...entries]
    this.#base = base.sequence
    this.#applied = Math.max(committed, base.sequence)
    this.#core = new ReplicaCore({ self: this.id, timing, log, promised, committed })
    this.#every(TICK_MS, () => this.#step({ kind: 'ticked' }))
    this.#every(KEEP_ALIVE_MS, () => this.#keepAlive())
    this.#every(POLL_MS, () => this.#poll())
    this.#keepAlive()
    this.#poll()
  }

  crash(): void {
    if (this.#core === undefined) return
    this.#core = undefined
    this.#life += 1
    this.#waiting = []
    this.#deposed = []
    this.#reads.clear()
    this.#inbox.length = 0
    this.#pausedUntilMs = 0
    this.#isInstalling = false
    this.disk.crash()
    this.#in.checker.note(`crash ${this.node}`)
  }

  /** The disk becomes what it was at an earlier moment. */
  goBack(): void {
    this.crash()
    this.disk.goBack()
    this.#backSince = this.#incarnation + 1
    this.#in.checker.note(`back ${this.node}`)
  }

  /** Whether one of these counts on what its disk may have lost. */
  isMissedBy(holders: readonly ReplicaId[]): boolean {
    return holders.some(
      ({ node, incarnation }) => node === this.node && incarnation < this.#backSince,
    )
  }

  /** Nothing happens in the process meanwhile; what comes in waits. */
  pause(forMs: number): void {
    const { time } = this.#in
    this.#pausedUntilMs = time.nowMs + forMs
    const life = this.#life
    time.after(forMs, () => {
      if (life !== this.#life) return
      for (const run of this.#inbox.splice(0)) run()
    })
  }

  write(): void {
    if (this.#core?.admission !== 'open' || this.#isPaused) return
    this.#payloads += 1
    this.#propose(`${this.node}/${this.#incarnation}/${this.#payloads}`)
  }

  read(): void {
    if (this.#core === undefined || this.#isPaused) return
    this.#tokens += 1
    this.#reads.set(this.#tokens, this.#in.checker.acknowledgedMax)
    this.#step({ kind: 'read_asked', token: this.#tokens, isHeard: false })
  }

  /** The nodes that are about to stop, with the lives that end. */
  hearOfLeaving(nodes: ReadonlyMap<NodeId, number>): void {
    this.#whenAwake(() => this.#step({ kind: 'leaving', nodes }))
  }

  /** Old entries go, as when the journal is collected. */
  dropLog(): void {
    const core = this.#core
    if (core === undefined) return
    const through = Math.min(core.committed, core.durable, this.#applied)
    const base = this.#entryAt(through)
    if (base === undefined) return
    core.dropLogThrough(through)
    this.#log.splice(0, through - this.#base)
    this.#base = through
    this.disk.dropThrough(base)
  }

  receive(from: ReplicaId, message: ReplicationMessage): void {
    this.#whenAwake(() => {
      if (this.#isInstalling) return // as in a node: no row may follow the mark of the snapshot
      this.#step({ kind: 'received', from, message })
    })
  }

  /** The control plane asks where the log ends. */
  tellEnd(round: number): void {
    this.#whenAwake(() => {
      const { id } = this
      const end = this.#core?.durableEnd
      const { network, controlPlane } = this.#in
      if (end === undefined) return
      network.send(this.node, CONTROL_PLANE, () => controlPlane.noteEnd(id, end, round))
    })
  }

  /** A snapshot that another replica took. */
  install(base: LogPosition): void {
    const core = this.#core
    if (this.#isInstalling || core?.needsSnapshot(base) !== true) return
    const life = this.#life
    this.#isInstalling = true
    this.disk.install(base, () => {
      if (life !== this.#life) return
      this.#isInstalling = false
      if (base.sequence <= core.committed) return
      this.#log = []
      this.#base = base.sequence
      this.#applied = base.sequence
      this.#step({ kind: 'installed', base })
    })
  }

  #entryAt(sequence: number): EntryInfo | undefined {
    return this.#log[sequence - this.#base - 1]
  }

  get #isPaused(): boolean {
    return this.#in.time.nowMs < this.#pausedUntilMs
  }

  get #nowMs(): number {
    return this.clock.offsetMs + this.#in.time.nowMs * this.clock.rate
  }

  #whenAwake(run: () => void): void {
    if (this.#core === undefined) return
    if (this.#isPaused) this.#inbox.push(run)
    else run()
  }

  #every(periodMs: number, run: () => void): void {
    const life = this.#life
    const again = (): void => {
      if (life !== this.#life) return
      if (!this.#isPaused) run()
      this.#in.time.after(periodMs, again)
    }
    this.#in.time.after(this.#in.time.between(0, periodMs), again)
  }

  #keepAlive(): void {
    const { network, controlPlane } = this.#in
    network.send(this.node, CONTROL_PLANE, () => controlPlane.keepAlive(this.id))
  }

  /** Reads the configuration and hears of it some time later. */
  #poll(): void {
    this.#ask(
      () => undefined,
      (configuration) => this.#step({ kind: 'configured', configuration }),
    )
  }

  #ask(
    change: () => boolean | undefined,
    then: (configuration: SimulatedControlPlane['configuration']) => void,
  ): void {
    const { network, controlPlane } = this.#in
    const life = this.#life
    network.send(this.node, CONTROL_PLANE, () => {
      if (controlPlane.isAway) return
      if (change() === false) return
      const { configuration } = controlPlane
      network.send(CONTROL_PLANE, this.node, () => {
        if (life === this.#life) this.#whenAwake(() => then(configuration))
      })
    })
  }

  #propose(payload: string): void {
    const core = this.#core
    if (core === undefined) return
    const { sequence, crc } = core.last
    const entry: EntryInfo = {
      sequence: sequence + 1,
      epoch: core.epoch,
      crc: crc32(payload, crc),
      bytes: payload.length,
    }
    this.#waiting.push({ position: entry })
    this.#step({ kind: 'proposed', entries: [entry] })
  }

  #step(input: Input): void {
    const core = this.#core
    if (core === undefined) return
    for (const effect of core.step(input, this.#nowMs)) {
      if (this.#core !== core) return
      this.#perform(effect)
    }
    this.#deposed = this.#deposed.filter((deposed) => !this.#isDecided(core, deposed))
  }

  #isDecided(core: ReplicaCore, { writes, ...span }: DeposedWrites): boolean {
    const { checker } = this.#in
    const fate = core.fateOf(span)
    for (const { position } of writes) {
      if (fate === 'committed') checker.acknowledges(position)
      if (fate === 'nothing') checker.refuses(position)
    }
    return fate !== 'open'
  }

  #depose(): void {
    while (this.#waiting.length > 0) {
      const writes = this.#waiting.splice(0, GROUP_MAX)
      const [first, last] = [writes[0]?.position, writes.at(-1)?.position]
      if (first !== undefined && last !== undefined) this.#deposed.push({ first, last, writes })
    }
  }

  #perform(effect: Effect): void {
    if (isIo(effect)) this.#performIo(effect)
    else this.#performForLeader(effect)
  }

  #performIo(effect: Extract<Effect, { kind: IoKind }>): void {
    switch (effect.kind) {
      case 'append':
        return this.#append(effect.entries, effect.truncateAfter)
      case 'promise':
        return this.#promise(effect.epoch)
      case 'send':
        return this.#send(effect.to, effect.message)
      case 'replicate':
        return this.#replicate(effect.order)
      case 'snapshot':
        return this.#sendSnapshot(effect.to)
      case 'commit':
        return this.#commit(effect.through)
    }
  }

  #performForLeader(effect: Exclude<Effect, { kind: IoKind }>): void {
    const { checker, controlPlane } = this.#in
    switch (effect.kind) {
      case 'start_epoch':
        return this.#propose(`epoch ${effect.epoch}`)
      case 'serve':
        return checker.serves(effect.epoch, `${this.node}/${this.#incarnation}`)
      case 'stop_leading':
        return this.#depose()
      case 'change':
        return this.#ask(
          () => controlPlane.change(effect.change),
          (configuration) => this.#step({ kind: 'configured', configuration }),
        )
      case 'read':
        return this.#answerRead(effect.token)
      case 'refuse_read':
        this.#reads.delete(effect.token)
        return
      case 'confirm':
        return this.#ask(
          () => undefined,
          (configuration) => this.#step({ kind: 'confirmed', token: effect.token, configuration }),
        )
      case 'refuse':
      case 'contradicted':
        throw new BrokenInvariant(`${this.node}: ${effect.kind}: ${effect.reason}`)
    }
  }

  #append(entries: readonly EntryInfo[], truncateAfter: number | undefined): void {
    if (truncateAfter !== undefined) this.#log.length = truncateAfter - this.#base
    this.#log.push(...entries)
    const position = entries.at(-1)
    const life = this.#life
    const done = (): void => {
      if (life !== this.#life || position === undefined) return
      this.#whenAwake(() => this.#step({ kind: 'durable', position }))
    }
    this.disk.append(entries, { truncateAfter, done })
  }

  #promise(epoch: number): void {
    const life = this.#life
    this.disk.promise(epoch, () => {
      if (life === this.#life) this.#whenAwake(() => this.#step({ kind: 'promised', epoch }))
    })
  }

  #send(to: NodeId, message: ReplicationMessage): void {
    const from = this.id
    this.#in.network.send(this.node, to, () => this.#in.replica(to)?.receive(from, message))
  }

  #replicate({ to, through, ...head }: AppendOrder): void {
    const first = head.previous.sequence + 1
    if (first <= this.#base) return
    const entries = this.#log.slice(first - this.#base - 1, through - this.#base)
    if (entries.length !== through - head.previous.sequence) return
    this.#send(to, { ...head, entries })
  }

  #sendSnapshot(to: NodeId): void {
    const core = this.#core
    if (core === undefined) return
    const base = this.#entryAt(core.committed) ?? this.disk.durable.base
    if (base.sequence > core.committed) return
    this.#in.network.send(this.node, to, () => {
      this.#in.time.after(this.#in.time.between(5, 50), () => this.#in.replica(to)?.install(base))
    })
  }

  #commit(through: number): void {
    const entries = this.#log.slice(this.#applied - this.#base, through - this.#base)
    this.#in.checker.commits(`${this.node}/${this.#incarnation}`, entries)
    this.#applied = Math.max(this.#applied, through)
    this.disk.noteCommitted(through)
    const done = this.#waiting.filter(({ position }) => position.sequence <= through)
    this.#waiting = this.#waiting.filter(({ position }) => position.sequence > through)
    for (const { position } of done) this.#in.checker.acknowledges(position)
  }

  #answerRead(token: number): void {
    const floor = this.#reads.get(token)
    if (floor === undefined) return
    this.#reads.delete(token)
    this.#in.checker.reads(this.node, { seen: this.#applied, floor })
  }
}

function isIo(effect: Effect): effect is Extract<Effect, { kind: IoKind }> {
  return IO_KINDS.some((kind) => kind === effect.kind)
}
