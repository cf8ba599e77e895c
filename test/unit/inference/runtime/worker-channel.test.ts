import { ISOLATIONS } from '../../../../inference/runtime/worker-channel.ts'
import { describeWorkerChannel } from '../../../conformance/worker-channel.ts'

for (const isolation of ISOLATIONS) describeWorkerChannel(isolation)
