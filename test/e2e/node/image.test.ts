// The image as the restricted level lets it run: one node, without the operator.

import { expect } from 'chai'
import { quarryImage } from '../support/quarry-image.ts'
import { useNamespace } from '../support/test-namespace.ts'

const POD = 'one'

describe('the image in a restricted namespace', function () {
  this.timeout(300_000)

  const namespace = useNamespace('node', import.meta.filename)
  let image = ''

  before(async () => {
    image = await quarryImage(namespace().tier)
    await namespace().apply({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    })
  })

  const start = async (): Promise<void> => {
    await namespace().apply(nodePod(image))
    await namespace().kubectl(['wait', '--for=condition=Ready', '--timeout=120s', `pod/${POD}`])
  }
  const quarry = (args: readonly string[], input = ''): Promise<string> =>
    namespace().kubectl(['exec', '-i', POD, '--', 'quarry', ...args], { input })

  it('is ready, takes a document, and has it in the next pod with the same claim', async () => {
    await start()
    await quarry(['table', 'create', 'books'])
    await quarry(['load', 'books', '-'], '{"id":"book/1","title":"Sea charts"}\n')
    await namespace().kubectl(['delete', 'pod', POD])
    await start()

    expect(await quarry(['lookup', 'books', 'book/1'])).to.include('Sea charts')
  })

  it('ends in order when its pod is deleted, long before it would be killed', async () => {
    await namespace().kubectl(['delete', 'pod', POD, '--wait=false'])

    // The kubelet writes the end of the container before the pod is gone; a killed one would be 137.
    const code = '{.status.containerStatuses[0].state.terminated.exitCode}'
    const ended = [`--for=jsonpath=${code}=0`, '--timeout=50s']
    const said = await namespace().kubectl(['wait', `pod/${POD}`, ...ended])

    expect(said).to.include('condition met')
  })
})

function nodePod(image: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: POD },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 60,
      automountServiceAccountToken: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 10_001,
        runAsGroup: 10_001,
        fsGroup: 10_001,
        fsGroupChangePolicy: 'OnRootMismatch',
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        {
          name: 'node',
          image,
          imagePullPolicy: 'IfNotPresent',
          args: ['swarm', '--data-dir=/var/lib/quarry', '--health-host=0.0.0.0'],
          startupProbe: {
            httpGet: { path: '/healthz', port: 4200 },
            periodSeconds: 1,
            failureThreshold: 60,
          },
          readinessProbe: { httpGet: { path: '/readyz', port: 4200 }, periodSeconds: 1 },
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
          volumeMounts: [
            { name: 'data', mountPath: '/var/lib/quarry' },
            { name: 'tmp', mountPath: '/tmp' },
          ],
        },
      ],
      volumes: [
        { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
        { name: 'tmp', emptyDir: {} },
      ],
    },
  }
}
