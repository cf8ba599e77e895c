// What containers get: processor time and memory, environment variables, and what they may do.

import {
  amounts,
  choice,
  flag,
  integer,
  keyed,
  list,
  object,
  optional,
  set,
  text,
} from '../schema/fields.ts'
import type { Rule } from '../schema/fields.ts'
import { keySelector, objectName } from './names.ts'

const ENV_MAX = 64
const ENV_NAME = '^[-._a-zA-Z][-._a-zA-Z0-9]*$'
const ENV_NAME_LENGTH_MAX = 128
const ENV_VALUE_LENGTH_MAX = 8192
const ID_MAX = 2_147_483_647
const GROUPS_MAX = 32
const CAPABILITIES_MAX = 64

export function resources(description: string) {
  return object(description, {
    requests: optional(amounts('What is set aside for the container.')),
    limits: optional(amounts('What the container may use at most.')),
  })
}

/** Environment variables. The rules refuse names that belong to the operator. */
export function env(description: string, rules: readonly Rule[]) {
  return keyed(
    description,
    object('One environment variable.', {
      name: text('The name of the variable.', {
        max: ENV_NAME_LENGTH_MAX,
        min: 1,
        pattern: ENV_NAME,
      }),
      value: optional(text('Its value; may be empty.', { max: ENV_VALUE_LENGTH_MAX })),
      valueFrom: optional(
        object('Where its value comes from, instead of being written here: one source.', {
          secretKeyRef: optional(keySelector('A key of a Secret.')),
          configMapKeyRef: optional(keySelector('A key of a ConfigMap.')),
          fieldRef: optional(
            object(
              'A field of the pod.',
              {
                fieldPath: text('The path of the field.', { max: 512, min: 1 }),
                apiVersion: optional(text('The version of the path; absent: v1.', { max: 64 })),
              },
              { atomic: true },
            ),
          ),
          resourceFieldRef: optional(
            object(
              'A request or limit of a container.',
              {
                resource: text('The request or limit, such as limits.memory.', {
                  max: 128,
                  min: 1,
                }),
                containerName: optional(text('The container; absent: this one.', { max: 63 })),
                divisor: optional(
                  text('The unit in which the amount is counted; absent: 1.', { max: 32 }),
                ),
              },
              { atomic: true },
            ),
          ),
        }),
      ),
    }),
    { max: ENV_MAX, keys: ['name'], rules },
  )
}

export function envFrom(description: string) {
  return list(
    description,
    object('One source of environment variables: a Secret or a ConfigMap.', {
      prefix: optional(text('What is put before each name.', { max: ENV_NAME_LENGTH_MAX })),
      secretRef: optional(variables('A Secret, each key of which becomes a variable.')),
      configMapRef: optional(variables('A ConfigMap, each key of which becomes a variable.')),
    }),
    { max: ENV_MAX },
  )
}

function variables(description: string) {
  return object(description, {
    name: objectName('The name of the object, in the same namespace.'),
    optional: optional(flag('Whether the pod starts although the object is missing.')),
  })
}

const id = (what: string) => optional(integer(what, { min: 0, max: ID_MAX }))

/** As Kubernetes' PodSecurityContext, less what concerns Windows. */
export function podSecurityContext(description: string) {
  return object(description, {
    runAsNonRoot: optional(flag('Whether containers that would run as root are refused.')),
    runAsUser: id('The user that containers run as.'),
    runAsGroup: id('The group that containers run as.'),
    fsGroup: id('The group that owns the volumes.'),
    fsGroupChangePolicy: optional(
      choice(
        ['OnRootMismatch', 'Always'],
        'Whether the owner of every file is set at each start, or only if the root of the volume differs.',
      ),
    ),
    supplementalGroups: optional(
      list(
        'Further groups of what runs in the pod.',
        integer('A group.', { min: 0, max: ID_MAX }),
        {
          max: GROUPS_MAX,
        },
      ),
    ),
    supplementalGroupsPolicy: optional(
      choice(['Merge', 'Strict'], "Whether the groups of the image's user count too."),
    ),
    seccompProfile: optional(seccompProfile()),
    appArmorProfile: optional(appArmorProfile()),
    seLinuxOptions: optional(seLinuxOptions()),
    seLinuxChangePolicy: optional(
      choice(['Recursive', 'MountOption'], "How the volumes get the pod's SELinux label."),
    ),
    sysctls: optional(
      list(
        'Kernel settings of the pod.',
        object('One kernel setting.', {
          name: text('The name of the setting.', { max: 253, min: 1 }),
          value: text('Its value.', { max: 253 }),
        }),
        { max: GROUPS_MAX },
      ),
    ),
  })
}

/** As Kubernetes' SecurityContext, less what concerns Windows. */
export function containerSecurityContext(description: string) {
  const capability = text('The name of a capability.', { max: 64, min: 1 })
  return object(description, {
    allowPrivilegeEscalation: optional(
      flag('Whether what the container starts may get more rights than it has.'),
    ),
    privileged: optional(flag('Whether the container is root on its Kubernetes node.')),
    readOnlyRootFilesystem: optional(flag("Whether the image's files are read-only.")),
    runAsNonRoot: optional(flag('Whether the container is refused if it would run as root.')),
    runAsUser: id('The user that the container runs as.'),
    runAsGroup: id('The group that the container runs as.'),
    capabilities: optional(
      object('Rights of root that the container has or lacks.', {
        add: optional(set('Capabilities that are added.', capability, { max: CAPABILITIES_MAX })),
        drop: optional(
          set('Capabilities that are taken away.', capability, { max: CAPABILITIES_MAX }),
        ),
      }),
    ),
    procMount: optional(choice(['Default', 'Unmasked'], 'How much of /proc the container sees.')),
    seccompProfile: optional(seccompProfile()),
    appArmorProfile: optional(appArmorProfile()),
    seLinuxOptions: optional(seLinuxOptions()),
  })
}

function seccompProfile() {
  return object('Which system calls are allowed.', {
    type: choice(['RuntimeDefault', 'Localhost', 'Unconfined'], 'Where the profile comes from.'),
    localhostProfile: optional(
      text('The file of the profile on the Kubernetes node, for Localhost.', { max: 512 }),
    ),
  })
}

function appArmorProfile() {
  return object('The AppArmor profile.', {
    type: choice(['RuntimeDefault', 'Localhost', 'Unconfined'], 'Where the profile comes from.'),
    localhostProfile: optional(
      text('The name of the profile on the Kubernetes node, for Localhost.', { max: 512 }),
    ),
  })
}

function seLinuxOptions() {
  return object('The SELinux label.', {
    user: labelPart('The user of the label.'),
    role: labelPart('The role of the label.'),
    type: labelPart('The type of the label.'),
    level: labelPart('The level of the label.'),
  })
}

function labelPart(description: string) {
  return optional(text(description, { max: 256 }))
}
