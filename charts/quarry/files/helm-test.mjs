// What `helm test` runs in a pod: a cluster of one node becomes ready, takes a document, gives it back, and is removed.

import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 1000
const TOKEN_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/token'
/** The ports of the client Service and of the API server. */
const STORE_PORT = 8080

const setting = (name) => {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set`)
  return value
}
const namespace = setting('TEST_NAMESPACE')
const cluster = setting('TEST_CLUSTER')
const pollsMax = Number(setting('TEST_TIMEOUT_SECONDS'))
const server =
  process.env.TEST_API_SERVER ??
  `https://${setting('KUBERNETES_SERVICE_HOST')}:${setting('KUBERNETES_SERVICE_PORT_HTTPS')}`
const store = process.env.TEST_STORE_URL ?? `http://${cluster}.${namespace}.svc:${STORE_PORT}`
const kind = '/apis/quarry.dev/v1alpha1/namespaces'
const clusters = `${server}${kind}/${namespace}/storeclusters`

const token = (await readFile(process.env.TEST_TOKEN_FILE ?? TOKEN_FILE, 'utf8')).trim()

async function call(method, url, body, headers = {}) {
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, text, json: () => JSON.parse(text) }
}

const kube = (method, url, body) => call(method, url, body, { authorization: `Bearer ${token}` })

function expectStatus({ status, text }, allowed, what) {
  if (!allowed.includes(status)) throw new Error(`${what}: ${status} ${text}`)
}

/** Asks every second until the answer is what is waited for. */
async function poll(what, ask) {
  let last = ''
  for (let polls = 0; polls < pollsMax; polls++) {
    const { done, said } = await ask()
    if (done) return
    if (said !== last) process.stdout.write(`${what}: ${said}\n`)
    last = said
    await sleep(POLL_MS)
  }
  throw new Error(`${what}: not within ${pollsMax} s; at last: ${last}`)
}

async function create() {
  const storageClassName = process.env.TEST_STORAGE_CLASS
  const storage = {
    size: setting('TEST_STORAGE'),
    ...(storageClassName ? { storageClassName } : {}),
  }
  const answer = await kube('POST', clusters, {
    apiVersion: 'quarry.dev/v1alpha1',
    kind: 'StoreCluster',
    metadata: { name: cluster, namespace },
    spec: {
      mode: 'SingleNode',
      nodes: { replicas: 1, storage },
      inference: { enabled: false },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Retain' },
    },
  })
  expectStatus(answer, [201], 'create the cluster')
}

async function ready() {
  const answer = await kube('GET', `${clusters}/${cluster}`)
  expectStatus(answer, [200], 'read the cluster')
  const { conditions = [] } = answer.json().status ?? {}
  const condition = conditions.find(({ type }) => type === 'Ready')
  const said = `${condition?.reason ?? 'no condition'} ${condition?.message ?? ''}`.trim()
  return { done: condition?.status === 'True', said }
}

async function removed() {
  const { status } = await kube('GET', `${clusters}/${cluster}`)
  return { done: status === 404, said: `HTTP ${status}` }
}

async function remove() {
  expectStatus(
    await kube('DELETE', `${clusters}/${cluster}`),
    [200, 202, 404],
    'delete the cluster',
  )
  await poll('removed', removed)
}

async function writeAndRead() {
  const document = { id: 'test/1', text: 'written by helm test' }
  const tables = `${store}/api/v1/tables`
  expectStatus(await call('POST', `${tables}/test`, {}), [201], 'create a table')
  const write = { inserts: { [document.id]: { text: document.text } }, sync_level: 'write' }
  expectStatus(await call('POST', `${tables}/test/batch`, write), [200, 201], 'write')
  const answer = await call('GET', `${tables}/test/lookup/${encodeURIComponent(document.id)}`)
  expectStatus(answer, [200], 'read')
  if (!answer.text.includes(document.text)) throw new Error(`read: ${answer.text}`)
}

await remove()
try {
  await create()
  await poll('ready', ready)
  await writeAndRead()
  process.stdout.write('a document was written and read\n')
} finally {
  await remove()
}
