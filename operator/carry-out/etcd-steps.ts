// Steps that a managed etcd is asked for.

import { must } from '../../lib/assert.ts'
import type { EtcdAdmin } from '../etcd/etcd-admin.ts'
import { EtcdRefusal } from '../etcd/etcd-refusal.ts'
import type { EtcdStep } from '../machines/pass/decision.ts'
import { TransientError } from '../runtime/api/api-error.ts'
import type { Handlers, Hands, StepOutcome } from './step-context.ts'

export const ETCD_STEPS: Handlers<EtcdStep['kind']> = {
  add_etcd_member: ({ name }, hands) => ask(hands, (etcd) => etcd.addMember(name, hands.signal)),
  promote_etcd_member: ({ memberID }, hands) =>
    ask(hands, (etcd) => etcd.promoteMember(memberID, hands.signal)),
  remove_etcd_member: ({ memberID }, hands) =>
    ask(hands, (etcd) => etcd.removeMember(memberID, hands.signal)),
  move_etcd_leader: ({ fromMemberID, toMemberID }, hands) =>
    ask(hands, (etcd) => etcd.moveLeader({ fromMemberID, toMemberID }, hands.signal)),
  defragment_etcd_member: ({ memberID }, hands) =>
    ask(hands, (etcd) => etcd.defragment(memberID, hands.signal)),
  disarm_etcd_alarm: ({ memberID }, hands) =>
    ask(hands, (etcd) => etcd.disarmAlarm(memberID, hands.signal)),
}

async function ask(
  { context }: Hands,
  call: (etcd: EtcdAdmin) => Promise<void>,
): Promise<StepOutcome> {
  try {
    await call(must(context.etcd, 'an etcd whose answer has asked for the step'))
    return 'done'
  } catch (error) {
    if (!(error instanceof EtcdRefusal)) throw error
    if (error.kind === 'again') return 'outdated'
    throw new TransientError(`etcd: ${error.message}`, { cause: error })
  }
}
