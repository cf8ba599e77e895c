// docs/tutorials/first-cluster.md, followed to the letter: each block of the page is run as it is, and prints what the page
// says that a reader sees.

import { expect } from 'chai'
import { ETCD_IMAGE } from '../../../operator/resources/etcd/etcd-image.ts'
import { etcdImage } from '../support/etcd-image.ts'
import { collectFailure } from '../support/failure-report.ts'
import { FollowedPage } from '../support/followed-page.ts'
import { namespacesOf, removeKind, removeQuarry } from '../support/fresh-kubernetes.ts'
import { openTier, START_LIMIT_MS, type Tier } from '../support/tier.ts'

const PAGE = 'docs/tutorials/first-cluster.md'
const HIT = /book\/1\n +\{"id":"book\/1","title":"Sea charts of the north"\}\n1 hit in /

describe('the page for a first cluster', function () {
  this.timeout(1_800_000)

  let tier: Tier
  let page: FollowedPage | undefined

  before('a Kubernetes that has nothing of Quarry', async function () {
    this.timeout(START_LIMIT_MS)
    tier = await openTier('node')
    await removeKind(tier)
    // A Kubernetes without a registry has the image that others pull.
    await etcdImage(tier, ETCD_IMAGE)
    page = await FollowedPage.open(tier, PAGE)
  })
  afterEach('collect what a failure left', async function () {
    if (this.currentTest?.state !== 'failed' || page === undefined) return
    for (const namespace of namespacesOf(tier)) {
      const where = await collectFailure(namespace, this.currentTest.fullTitle())
      process.stdout.write(`     collected in ${where}\n`)
    }
  })
  after('remove what the page has made', async () => {
    if (page === undefined) return
    await page[Symbol.asyncDispose]()
    if (process.env['QUARRY_E2E_KEEP'] !== '1') await removeQuarry(tier)
  })

  const follow = async (heading: string): Promise<string> => (await page?.follow(heading)) ?? ''

  it('comes to a cluster of one node, which finds a document', async () => {
    const printed = await follow('A first cluster')

    expect(printed).to.match(HIT)
  })

  it('shows what is there', async () => {
    const printed = await follow('What is there now')

    expect(printed).to.match(/storecluster\.quarry\.dev\/notes +True +Healthy +1\/1/)
    expect(printed).to.match(/pod\/notes-node-0 +1\/1 +Running/)
  })

  it('deletes the cluster and creates it again over its volume, with the document', async () => {
    const printed = await follow('Deleted, and created again')

    expect(printed).not.to.include('pod/notes')
    expect(printed).to.match(/data-notes-node-0 +Bound/)
    expect(printed).to.match(HIT)
  })

  it('makes three nodes and an etcd of three members, which find a document', async () => {
    const printed = await follow('Three nodes')

    expect(printed).to.match(/storecluster\.quarry\.dev\/library +True +Healthy +3\/3/)
    expect(printed.match(/pod\/library-(?:node|etcd)-\d +1\/1 +Running/g)).to.have.length(6)
    expect(printed).to.match(HIT)
    const shards = printed.split('\n').filter((line) => line.startsWith('books '))
    expect(shards).to.have.length(3)
    expect(shards.filter((line) => line.includes(' none '))).to.deep.equal([])
  })

  it('has one node more, which finds the document, and one less again', async () => {
    const printed = await follow('One node more, and one less')

    const nodes = [...printed.matchAll(/^library +True +Healthy +(\S+)/gm)].map(
      ([, ready]) => ready,
    )
    expect(nodes).to.deep.equal(['4/4', '3/3'])
    expect(printed).to.match(HIT)
  })

  it('goes to another image, with the document', async () => {
    const printed = await follow('Another image')

    const images = [...printed.matchAll(/^library-node-\d +(\S+)$/gm)].map(([, image]) => image)
    expect(images).to.deep.equal(['quarry:next', 'quarry:next', 'quarry:next'])
    expect(printed).to.match(HIT)
  })

  it('deletes three nodes and creates them again over their volumes, with the document', async () => {
    const printed = await follow('Three nodes deleted, and created again')

    expect(printed.match(/data-library-(?:node|etcd)-[012] +Bound/g)).to.have.length(6)
    expect(printed).to.match(/^library +True +Healthy +3\/3/m)
    expect(printed).to.match(HIT)
  })

  it('ends', async () => {
    await follow('The end')

    expect(page?.headings).to.deep.equal([])
  })
})
