import type { V1Container, V1StatefulSet } from '@kubernetes/client-node'
import { expect } from 'chai'
import { INFERENCE_OPTIONS, parseInferenceConfig } from '../../../../inference/config.ts'
import { must } from '../../../../lib/assert.ts'
import { ManualClock } from '../../../../lib/clock.ts'
import { fileKey } from '../../../../lib/options.ts'
import type { Flags } from '../../../../lib/options.ts'
import { seededRandom } from '../../../../lib/random.ts'
import { buildProgram } from '../../../../cli/program.ts'
import type { Output } from '../../../../cli/process/terminal.ts'
import { NODE_OPTIONS, parseClusterNodeConfig } from '../../../../node/cluster-config.ts'
import { parseNodeConfig } from '../../../../node/config.ts'
import {
  OWNED_INFERENCE_OPTIONS,
  OWNED_NODE_OPTIONS,
} from '../../../../operator/kinds/cluster/owned-names.ts'
import type { ClusterInput } from '../../../../operator/resources/parts/cluster-input.ts'
import { buildConfiguration } from '../../../../operator/resources/nodes/node-configuration.ts'
import { etcdEndpoints } from '../../../../operator/resources/nodes/node-command.ts'
import { buildNodeSet } from '../../../../operator/resources/nodes/node-set.ts'
import { inputOf } from '../../../support/operator/cluster-inputs.ts'
import { CLUSTER_SHAPES } from '../../../support/operator/cluster-shapes.ts'

const POD = 'books-node-0'
/** `inference_url` is a variable, and no option of the configuration file. */
const VARIABLES = ['inference_url']

/** What the product's own command line makes of a container's arguments. */
async function parsed(container: V1Container): Promise<{ words: string[]; flags: Flags }> {
  const args = (container.args ?? []).map((arg) => arg.replaceAll('$(POD_NAME)', POD))
  const program = await buildProgram(args, context())
  let found: { words: string[]; flags: Flags } | undefined
  const [first = '', second = ''] = args
  const command = must(
    program.commands.find((one) => one.name() === first),
    'a command',
  )
  const called = command.commands.find((one) => one.name() === second) ?? command
  called.action(() => {
    found = { words: called.args, flags: called.opts() }
  })
  await program.parseAsync([...args], { from: 'user' })
  return must(found, 'the command is called')
}

function containersOf(input: ClusterInput): readonly V1Container[] {
  const set: V1StatefulSet = JSON.parse(JSON.stringify(buildNodeSet(input)))
  const { containers, initContainers = [] } = must(set.spec?.template.spec, 'a pod')
  return [...containers, ...initContainers]
}

function environmentOf({ env = [] }: V1Container): Record<string, string> {
  return Object.fromEntries(env.map(({ name, value = '' }) => [name, value]))
}

function fileOf(input: ClusterInput, key: string) {
  const { data } = buildConfiguration(input)
  return { path: key, text: must(data[key], key) }
}

describe('the command lines of containers', () => {
  it('tell nodes of a member of etcd that is there, whichever have left it a quorum', () => {
    for (const replicas of [1, 3, 5]) {
      const told = etcdEndpoints(
        inputOf({ nodes: { storage: { size: '1Gi' } }, etcd: { replicas } }),
      )
      const quorum = (replicas + 1) / 2
      expect(told.length, `of ${replicas}`).to.be.within(replicas - quorum + 1, replicas)
    }
  })

  for (const [shape, input] of Object.entries(CLUSTER_SHAPES)) {
    it(`are accepted by the servers themselves, for ${shape}`, async () => {
      for (const container of containersOf(input)) {
        const { flags, words } = await parsed(container)
        const { config: _, inference: __, ...rest } = flags
        const env = environmentOf(container)
        switch (container.args?.[0] ?? '') {
          case 'node': {
            if (Object.hasOwn(env, 'QUARRY_ETCD_USER')) env['QUARRY_ETCD_USER'] = 'reader'
            const config = parseClusterNodeConfig(env, rest, fileOf(input, 'quarry.yaml'))
            expect(config.nodeName).to.equal(POD)
            expect(config.zone).to.equal('')
            expect(config.advertiseUrl).to.match(/^http:\/\/books-node-0\./)
            break
          }
          case 'swarm':
            expect(parseNodeConfig(env, rest, fileOf(input, 'quarry.yaml')).host).to.equal(
              '0.0.0.0',
            )
            break
          case 'inference': {
            const file = fileOf(input, 'inference.yaml')
            const { supervise, ...own } = rest
            expect(Number(supervise)).to.be.at.least(10)
            expect(parseInferenceConfig(env, own, { file }).host).to.equal('127.0.0.1')
            break
          }
          default:
            expect(container.args?.slice(0, 2)).to.deep.equal(['models', 'pull'])
            expect(words.length).to.equal(1)
        }
      }
    })
  }

  it('win over what people write to the configuration', () => {
    const written = { host: 'x', data_dir: '/elsewhere', check_interval_ms: 60_000 }
    const input = inputOf({ nodes: { storage: { size: '1Gi' } }, config: written })

    expect(fileOf(input, 'quarry.yaml').text).to.equal('"check_interval_ms": 60000\n')
  })

  it('set no option that people may write, but for those of their own', () => {
    for (const input of Object.values(CLUSTER_SHAPES)) {
      for (const { args = [] } of containersOf(input)) {
        const owned = args[0] === 'inference' ? OWNED_INFERENCE_OPTIONS : OWNED_NODE_OPTIONS
        if (args[0] === 'models') continue
        const set = args
          .filter((arg) => arg.startsWith('--'))
          .map((arg) => arg.slice(2).split('=')[0]?.replaceAll('-', '_') ?? '')
          .filter((option) => !['config', 'no_inference', 'supervise'].includes(option))
        expect(Object.keys(owned)).to.include.members(set)
      }
    }
  })

  it('are of options that the servers have', () => {
    expect([...fileKeys(NODE_OPTIONS), ...VARIABLES]).to.include.members(
      Object.keys(OWNED_NODE_OPTIONS),
    )
    expect(fileKeys(INFERENCE_OPTIONS)).to.include.members(Object.keys(OWNED_INFERENCE_OPTIONS))
  })
})

describe('the environment of a node', () => {
  it('has no variable of the operator that people wrote', () => {
    const env = [
      { name: 'QUARRY_HOST', value: 'x' },
      { name: 'POD_NAME', value: 'x' },
      { name: 'AWS_REGION', value: 'y' },
    ]
    const input = inputOf({ nodes: { storage: { size: '1Gi' }, env } })
    const [node] = containersOf(input)

    expect((node?.env ?? []).filter(({ value }) => value === 'x')).to.deep.equal([])
    expect(node?.env?.at(-1)).to.deep.equal({ name: 'AWS_REGION', value: 'y' })
  })
})

function fileKeys(table: object): readonly string[] {
  return Object.keys(table).map(fileKey)
}

function context(): Parameters<typeof buildProgram>[1] {
  const output: Output = { stream: process.stdout, isTty: false, columns: 80, color: false }
  return {
    terminal: { stdin: process.stdin, stdinIsTty: false, out: output, err: output },
    settings: { url: '', noColor: true, parentPipe: undefined },
    env: {},
    clock: new ManualClock(),
    random: seededRandom(1),
    stopSignal: () => new AbortController().signal,
    onHangup: () => () => undefined,
  }
}
