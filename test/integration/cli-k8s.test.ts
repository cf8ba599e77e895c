// `quarry k8s status` against API servers that answer, refuse, and are not there.

import { createServer as createTlsServer } from 'node:https'
import { once } from 'node:events'
import { expect } from 'chai'
import { ManualClock } from '../../lib/clock.ts'
import {
  AnsweringApi,
  KubeConfigFolder,
  listOf,
  refusal,
} from '../support/kubernetes/answering-api.ts'
import type { ApiAnswers } from '../support/kubernetes/answering-api.ts'
import { CLUSTER_CASES } from '../support/operator/cluster-cases.ts'
import { clusterObject, NOW_MS, statusOf } from '../support/operator/cluster-states.ts'
import { close, listen, portOf } from '../support/servers/local-server.ts'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../support/servers/tls-certificate.ts'
import { runCommand } from './cli-session.ts'
import type { CliRun } from './cli-session.ts'

const GROUP = '/apis/quarry.dev/v1alpha1'
const BOOKS = `${GROUP}/namespaces/library/storeclusters/books`
const LIST = `${GROUP}/namespaces/library/storeclusters`
const PODS = '/api/v1/namespaces/library/pods'
const EVENTS = '/api/v1/namespaces/library/events'

const { object, pods, events } = CLUSTER_CASES['rollout stalled']!()
const ANSWERS: ApiAnswers = {
  [BOOKS]: [200, object],
  [PODS]: listOf(pods),
  [EVENTS]: listOf(events),
}

async function run(args: readonly string[], kubeconfig: string): Promise<CliRun> {
  const setting = { url: 'http://127.0.0.1:1', env: { KUBECONFIG: kubeconfig } }
  return runCommand(['k8s', 'status', ...args], setting, new ManualClock(NOW_MS))
}

/** A call against a server that answers so, with what it was asked. */
async function ask(
  answers: ApiAnswers,
  args: readonly string[] = ['books'],
): Promise<CliRun & { readonly paths: readonly string[] }> {
  await using api = await AnsweringApi.start(answers)
  await using kubeconfig = await KubeConfigFolder.open(api.url)
  return { ...(await run(args, kubeconfig.file)), paths: api.paths }
}

/** A call against a server of which nobody knows anything. */
async function askAt(server: string, args: readonly string[] = ['books']): Promise<CliRun> {
  await using kubeconfig = await KubeConfigFolder.open(server)
  return run(args, kubeconfig.file)
}

describe('quarry k8s status', () => {
  it('shows a cluster of the namespace of the context', async () => {
    const { exitCode, stdout, stderr, paths } = await ask(ANSWERS)

    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    expect(stdout).to.include(
      '● Degraded, store degraded\n  library/books · context dev · Distributed · version 1.2.3',
    )
    expect(stdout).to.include('Degraded is True: CrashLooping, for 15 min')
    expect(stdout).to.match(/^books-node-2 +zone-c +1\.3\.0 +CrashLoopBackOff/m)
    expect(paths.map((path) => decodeURIComponent(path))).to.deep.equal([
      BOOKS,
      `${PODS}?labelSelector=app.kubernetes.io/instance=books,app.kubernetes.io/name=quarry&limit=500`,
      `${EVENTS}?fieldSelector=involvedObject.uid=${object.metadata.uid}&limit=200`,
    ])
  })

  it('prints one line of JSON for programs', async () => {
    const { exitCode, stdout } = await ask(ANSWERS, ['books', '--json'])
    const report = JSON.parse(stdout)

    expect(exitCode).to.equal(0)
    expect(stdout.trimEnd()).to.not.include('\n')
    expect(report).to.include({
      cluster: 'books',
      namespace: 'library',
      context: 'dev',
      generation: 3,
    })
    expect(report.status.operation).to.include({ type: 'Upgrade', phase: 'WaitReady' })
    expect(report.attention.map(({ reason }: { readonly reason: string }) => reason)).to.deep.equal(
      ['CrashLooping'],
    )
    expect(report.pods.at(-1)).to.deep.equal({
      name: 'books-node-2',
      component: 'node',
      ready: false,
      restarts: 7,
      host: 'worker-1',
      problem: {
        reason: 'CrashLoopBackOff',
        message: 'back-off 5m0s restarting failed container=quarry',
      },
    })
  })

  it('looks where it is told to', async () => {
    const elsewhere = BOOKS.replace('library', 'archive')
    const { paths } = await ask({ ...ANSWERS, [elsewhere]: [200, object] }, [
      'books',
      '-n',
      'archive',
    ])

    expect(paths[0]).to.equal(elsewhere)
  })

  it('shows the rest where pods and events may not be listed', async () => {
    const forbidden = refusal(403, 'Forbidden', 'pods is forbidden: User "ada" cannot list')
    const { exitCode, stdout } = await ask({ ...ANSWERS, [PODS]: forbidden, [EVENTS]: forbidden })

    expect(exitCode).to.equal(0)
    expect(stdout).to.include('pods are not shown: pods is forbidden: User "ada" cannot list')
    expect(stdout).to.match(/^books-node-2 +zone-c +1\.3\.0 +not ready/m)
  })
})

const books = clusterObject(statusOf(3))
const named = (name: string, namespace: string) => ({
  ...books,
  metadata: { ...books.metadata, name, namespace },
})

describe('a cluster that quarry k8s status cannot show', () => {
  it('is not there: it says which ones are', async () => {
    const { exitCode, stderr } = await ask({
      [LIST]: listOf([named('catalog', 'library'), named('orders', 'library')]),
    })

    expect(exitCode).to.equal(1)
    expect(stderr).to.equal(
      'error: no StoreCluster books in namespace library (context dev); there are: catalog, orders\n',
    )
  })

  it('is in another namespace: it says how to name it', async () => {
    const { stderr } = await ask({
      [LIST]: listOf([]),
      [`${GROUP}/storeclusters`]: listOf([named('books', 'archive')]),
    })

    expect(stderr).to.include('; in other namespaces: books -n archive\n')
  })

  it('is nowhere, or others may not be seen', async () => {
    const forbidden = refusal(403, 'Forbidden', 'storeclusters is forbidden')
    const answers = { [LIST]: listOf([]), [`${GROUP}/storeclusters`]: forbidden }

    expect((await ask(answers)).stderr).to.include('(context dev), nor any other\n')
  })

  it('is of a kind that is not installed', async () => {
    const { exitCode, stderr } = await ask({})

    expect(exitCode).to.equal(1)
    expect(stderr).to.match(
      /^error: the kind StoreCluster is not installed at http.*install-operator\.md/,
    )
  })

  it('is not for this user to see', async () => {
    const message =
      'storeclusters.quarry.dev "books" is forbidden: User "ada" cannot get resource "storeclusters"'
    const { exitCode, stderr } = await ask({ [BOOKS]: refusal(403, 'Forbidden', message) })

    expect(exitCode).to.equal(1)
    expect(stderr).to.include(`error: ${message}; the roles view, edit and admin have this right`)
  })

  it('is not for a user whom the server does not know', async () => {
    const { exitCode, stderr } = await ask({
      [BOOKS]: refusal(401, 'Unauthorized', 'Unauthorized'),
    })

    expect(exitCode).to.equal(1)
    expect(stderr).to.include('does not accept the credentials of context dev')
    expect(stderr).to.not.include('secret-token')
  })

  it('is at a server that is ill', async () => {
    const { exitCode, stderr } = await ask({ [BOOKS]: refusal(500, '', 'etcd leader changed') })

    expect(exitCode).to.equal(1)
    expect(stderr).to.match(/answered 500: etcd leader changed\n$/)
  })

  it('has its refusals as JSON, too', async () => {
    const { stdout, stderr } = await ask({}, ['books', '--json'])

    expect(stdout).to.equal('')
    expect(JSON.parse(stderr)).to.include({ code: 'NOT_FOUND' })
  })

  it('is at a server that is away', async () => {
    const server = await listen('127.0.0.1', () => undefined)
    const url = `http://127.0.0.1:${portOf(server)}`
    await close(server)
    const { exitCode, stderr } = await askAt(url)

    expect(exitCode).to.equal(3)
    expect(stderr).to.equal(
      `error: the API server ${url} (context dev) cannot be reached: ` +
        'nothing listens there; is the Kubernetes cluster running? (ECONNREFUSED)\n',
    )
  })

  it('is at a server whose certificate nobody trusts', async () => {
    const server = createTlsServer({ cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { exitCode, stderr } = await askAt(`https://127.0.0.1:${portOf(server)}`)
    await close(server)

    expect(exitCode).to.equal(3)
    expect(stderr).to.match(/its certificate is not trusted; check certificate-authority-data/)
  })

  it('has a name that the host does not have', async () => {
    const { exitCode, stderr } = await askAt('https://nowhere.invalid:6443')

    expect(exitCode).to.equal(3)
    expect(stderr).to.match(/\((?:ENOTFOUND|EAI_AGAIN)\)\n$/)
  })

  it('is in a context that the kubeconfig lacks', async () => {
    const { exitCode, stderr } = await ask(ANSWERS, ['books', '--context', 'prod'])

    expect(exitCode).to.equal(2)
    expect(stderr).to.equal('error: the kubeconfig has no context prod; it has: dev\n')
  })

  it('is looked for without a kubeconfig', async () => {
    const { exitCode, stderr } = await run(['books'], '/nowhere/config')

    expect(exitCode).to.equal(2)
    expect(stderr).to.equal(
      'error: there is no kubeconfig: no file /nowhere/config; set KUBECONFIG\n',
    )
  })
})
