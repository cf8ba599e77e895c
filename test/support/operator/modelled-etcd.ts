// The members of a modelled etcd, each by the volume that has its data.

import type { EtcdView } from '../../../operator/machines/observed/etcd-view.ts'

export interface ModelledMember {
  readonly id: string
  readonly name: string
  claimUID: string | undefined
  isLearner: boolean
  dbBytes: number
  usedBytes: number
  hasAlarm: boolean
}

const MEBIBYTE = 1024 * 1024

/** `ready` has the UIDs of claims whose pods are ready. */
export class ModelledEtcd {
  members: ModelledMember[] = []
  #ids = 0
  #ready: ReadonlySet<string> = new Set()

  tick(ready: ReadonlySet<string>): void {
    this.#ready = ready
  }

  add(name: string, claimUID: string | undefined, isLearner: boolean): void {
    this.#ids += 1
    const [dbBytes, usedBytes] = [10 * MEBIBYTE, 9 * MEBIBYTE]
    const id = `m${this.#ids}`
    this.members.push({ id, name, claimUID, isLearner, dbBytes, usedBytes, hasAlarm: false })
  }

  /**
   * Whether a pod becomes ready over its volume: as a member, or as one that was added. `founders` are the members that its
   * options name for a new etcd: the first one that starts makes all of them members, and they have no quorum before more start.
   */
  mayStart(name: string, claimUID: string, founders: readonly string[]): boolean {
    if (this.members.length === 0 && founders.includes(name)) {
      for (const founder of founders) this.add(founder, undefined, false)
    }
    const own = this.members.find((member) => member.claimUID === claimUID)
    if (own !== undefined) return true
    const added = this.members.find((member) => member.name === name)
    if (added === undefined || added.claimUID !== undefined) return false
    added.claimUID = claimUID
    return true
  }

  #isHealthy({ claimUID }: ModelledMember): boolean {
    return claimUID !== undefined && this.#ready.has(claimUID)
  }

  get hasQuorum(): boolean {
    const voters = this.members.filter(({ isLearner }) => !isLearner)
    const healthy = voters.filter((member) => this.#isHealthy(member))
    return voters.length > 0 && healthy.length * 2 > voters.length
  }

  view(nowMs: number): EtcdView | 'unreachable' {
    if (!this.members.some((member) => this.#isHealthy(member))) return 'unreachable'
    const leader = this.members.find((one) => !one.isLearner && this.#isHealthy(one))
    const { hasQuorum } = this
    return {
      readAtMs: nowMs,
      hasQuorum,
      ...(leader === undefined || !hasQuorum ? {} : { leader: leader.id }),
      members: this.members.map((member) => ({
        id: member.id,
        name: member.name,
        isLearner: member.isLearner,
        hasStarted: member.claimUID !== undefined,
        isHealthy: this.#isHealthy(member),
        isCaughtUp: this.#isHealthy(member),
        dbBytes: member.dbBytes,
        dbUsedBytes: member.usedBytes,
        quotaBytes: 2048 * MEBIBYTE,
        alarms: member.hasAlarm ? ['NoSpace'] : [],
      })),
    }
  }
}
