import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { isServiceError } from '../../../../../lib/errors.ts'
import { readKubeConfig } from '../../../../../operator/runtime/client/kube-config-file.ts'
import type { KubeConfigChoice } from '../../../../../operator/runtime/client/kube-config-file.ts'

interface Named {
  readonly contexts: Readonly<Record<string, string>>
  readonly current?: string
  readonly server?: string
}

/** A kubeconfig whose contexts have these namespaces. */
function fileOf({ contexts, current = '', server = 'https://one:6443' }: Named): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': current,
    clusters: [{ name: 'one', cluster: { server } }],
    users: [{ name: 'ada', user: { token: 't' } }],
    contexts: Object.entries(contexts).map(([name, namespace]) => ({
      name,
      context: { cluster: name === 'lost' ? 'gone' : 'one', user: 'ada', namespace },
    })),
  })
}

function refusalOf(choice: KubeConfigChoice): string {
  try {
    readKubeConfig(choice)
  } catch (error) {
    if (isServiceError(error) && error.code === 'INVALID_ARGUMENT') return error.message
    throw error
  }
  return 'none'
}

describe('readKubeConfig', () => {
  let folder = ''

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-kubeconfig-'))
  })

  afterEach(() => rm(folder, { recursive: true }))

  async function write(name: string, text: string): Promise<string> {
    const file = path.join(folder, name)
    await writeFile(file, text)
    return file
  }

  it('takes the current context with its server and namespace', async () => {
    const KUBECONFIG = await write('a', fileOf({ contexts: { dev: 'library' }, current: 'dev' }))

    const { config, ...rest } = readKubeConfig({ env: { KUBECONFIG } })

    expect(rest).to.deep.equal({
      context: 'dev',
      namespace: 'library',
      server: 'https://one:6443',
    })
    expect(config.getCurrentContext()).to.equal('dev')
  })

  it('takes the context that is asked for, whose namespace is default unless it has one', async () => {
    const KUBECONFIG = await write(
      'a',
      fileOf({ contexts: { dev: 'x', prod: '' }, current: 'dev' }),
    )

    const { config, ...rest } = readKubeConfig({ env: { KUBECONFIG }, context: 'prod' })

    expect(rest).to.include({ context: 'prod', namespace: 'default' })
    expect(config.getCurrentContext()).to.equal('prod')
  })

  it('merges files as kubectl does: the first of a name counts, and files that are absent do not', async () => {
    const one = await write('one', fileOf({ contexts: { dev: 'first' }, current: 'dev' }))
    const two = await write(
      'two',
      fileOf({ contexts: { dev: 'second', own: 'own' }, current: 'own', server: 'https://two' }),
    )
    const empty = await write('empty', '\n')
    const files = [path.join(folder, 'absent'), empty, one, two]

    const { config, ...rest } = readKubeConfig({ env: { KUBECONFIG: files.join(path.delimiter) } })

    expect(rest).to.deep.equal({ context: 'dev', namespace: 'first', server: 'https://one:6443' })
    expect(config.getContexts().map(({ name }) => name)).to.deep.equal(['dev', 'own'])
  })

  it('looks below HOME without KUBECONFIG, and says where it looked', () => {
    expect(refusalOf({ env: { HOME: folder } })).to.equal(
      `there is no kubeconfig: no file ${folder}/.kube/config; set KUBECONFIG`,
    )
  })

  it('says which contexts there are for one that is not there, and where none is current', async () => {
    const KUBECONFIG = await write('a', fileOf({ contexts: { dev: '', lost: '' } }))
    const env = { KUBECONFIG }

    expect(refusalOf({ env, context: 'prod' })).to.equal(
      'the kubeconfig has no context prod; it has: dev, lost',
    )
    expect(refusalOf({ env })).to.equal(
      'the kubeconfig has no current context; choose one with --context: dev, lost',
    )
    expect(refusalOf({ env, context: 'lost' })).to.equal(
      'the context lost names the cluster gone, which the kubeconfig lacks',
    )
  })

  it('names the file that cannot be read', async () => {
    const KUBECONFIG = await write('a', '{ not: [yaml')

    expect(refusalOf({ env: { KUBECONFIG } })).to.match(
      new RegExp(`^the kubeconfig ${KUBECONFIG} cannot be read: `),
    )
  })
})
