import { ManualClock } from '../../../lib/clock.ts'
import { describeKubernetesApi } from '../../conformance/kubernetes-api.ts'
import { FakeKubernetes } from '../../support/kubernetes/fake-kubernetes.ts'
import { ALL_KINDS } from '../../support/kubernetes/known-kinds.ts'

describeKubernetesApi('FakeKubernetes', async () => ({
  api: new FakeKubernetes(new ManualClock(), ALL_KINDS),
  namespace: 'test',
  async [Symbol.asyncDispose]() {},
}))
