// A small image with a shell, `wget`, `nslookup` and `httpd` for pods of tests.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { outputOf } from './program.ts'
import { KUBE, type Tier } from './tier.ts'

const IMAGE = 'quarry.local/probe:1'

/** Its name, when all nodes have it. QUARRY_E2E_PROBE_IMAGE names one for clusters that test/e2e/kube did not make. */
export async function probeImage(tier: Tier): Promise<string> {
  if (!tier.isOwn) return process.env['QUARRY_E2E_PROBE_IMAGE'] ?? 'busybox:1.36'
  const directory = await mkdtemp(path.join(tmpdir(), 'quarry-probe-'))
  try {
    const file = path.join(directory, 'probe.tar')
    await outputOf([path.join(KUBE, 'make-image'), IMAGE, file, '--base', '--user', '10001'])
    await outputOf([path.join(KUBE, 'load-image'), file])
  } finally {
    await rm(directory, { recursive: true })
  }
  return IMAGE
}

export interface ProbeOptions {
  readonly image: string
  readonly name: string
  readonly labels?: Readonly<Record<string, string>>
  readonly command?: readonly string[]
  /** A claim, mounted at /data. */
  readonly claim?: string
}

/** A pod of the image that the restricted level of Pod Security allows; without a command it waits. */
export function probePod({ image, name, labels = {}, command, claim }: ProbeOptions): object {
  const mounts = claim === undefined ? [] : [{ name: 'data', mountPath: '/data' }]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels },
    spec: {
      terminationGracePeriodSeconds: 1,
      restartPolicy: 'Never',
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 10_001,
        runAsGroup: 10_001,
        fsGroup: 10_001,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        {
          name: 'main',
          image,
          imagePullPolicy: 'IfNotPresent',
          command: command ?? ['sleep', '100000'],
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
          volumeMounts: [...mounts, { name: 'tmp', mountPath: '/tmp' }],
        },
      ],
      volumes: [
        ...mounts.map(() => ({ name: 'data', persistentVolumeClaim: { claimName: claim } })),
        { name: 'tmp', emptyDir: {} },
      ],
    },
  }
}
