// A change of the cluster's secret: nodes accept the old and the new one for a time.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { Replaceable } from '../../lib/replaceable.ts'
import { TransportError, type PeerLink } from '../../node/peer/peer.ts'
import { countTo } from '../support/loads/load.ts'
import {
  ask,
  body,
  callHandler,
  HeldCalls,
  type PeerFixture,
} from '../support/peer/peer-fixture.ts'
import { TEST_LIMITS } from '../support/peer/peer-world.ts'

const OLD = Buffer.alloc(32, 8)
const NEW = Buffer.alloc(32, 9)

function secretsOf(...secrets: readonly Uint8Array[]): Replaceable<readonly Uint8Array[]> {
  return new Replaceable(secrets)
}

/** What the lane becomes from now on. Nobody who asks in turns sees a connection that another one follows at once. */
function changesOf(link: PeerLink): readonly string[] {
  const changes: string[] = []
  link.onState((lane, { kind }) => {
    if (lane === 'prompt') changes.push(kind)
  })
  return changes
}

/** Secrets of the dialer and of the acceptor, and whether they find each other. */
const CASES = {
  'show a secret that the other side only accepts': [[OLD], [NEW, OLD], true],
  'show the new secret while the other side still shows the old one': [
    [NEW, OLD],
    [OLD, NEW],
    true,
  ],
  'accept a secret that they do not show': [[NEW, OLD], [OLD], false],
  'show a secret that is gone': [[OLD], [NEW], false],
} as const

export function describePeerSecrets(peers: PeerFixture): void {
  describe('nodes that', () => {
    for (const [name, [ours, theirs, isAccepted]] of Object.entries(CASES)) {
      it(`${name} ${isAccepted ? 'are accepted' : 'are refused'}`, async () => {
        const { link } = await peers.pair(
          callHandler(async () => body('answer')),
          { client: { secrets: secretsOf(...ours) }, server: { secrets: secretsOf(...theirs) } },
        )

        const asked = link.call(ask(), { timeoutMs: 500 }).then(
          (answer) => answer.toString(),
          (error: unknown) => (error instanceof TransportError ? error.code : error),
        )

        expect(await peers.settled(asked)).to.equal(isAccepted ? 'answer' : 'UNAVAILABLE')
      })
    }
  })

  describe('a secret that is replaced', () => {
    it('ends the connections by it in order: what runs is answered, what comes goes by the new one', async () => {
      const held = new HeldCalls()
      const [ours, theirs] = [secretsOf(OLD), secretsOf(OLD)]
      const { link } = await peers.pair(held.handlers, {
        client: { secrets: ours },
        server: { secrets: theirs },
      })
      await peers.connect(link)
      const changes = changesOf(link)
      const running = link.call(ask())
      await peers.world.until(() => held.requests.length === 1)

      theirs.replace([OLD, NEW])
      ours.replace([NEW, OLD])
      theirs.replace([NEW])
      await peers.world.until(() => changes.at(-1) === 'connected')
      const later = link.call(ask())
      await peers.world.until(() => held.requests.length === 2)
      held.answerAll()

      expect((await peers.settled(running)).toString()).to.equal('answer')
      expect((await peers.settled(later)).toString()).to.equal('answer')
    })

    it('leaves no call in doubt that is on its way when its connection is to end', async () => {
      for (const turns of countTo(10)) {
        const theirs = secretsOf(OLD, NEW)
        const { link, client, server } = await peers.pair(
          callHandler(async () => body('answer')),
          { client: { secrets: secretsOf(OLD) }, server: { secrets: theirs } },
        )
        await peers.connect(link)

        const outcome = link.call(ask()).then(
          (answer) => answer.toString(),
          (error: unknown) => (error instanceof TransportError ? error.happened : error),
        )
        for (let turn = 0; turn < turns; turn++) await nextTurn()
        theirs.replace([NEW])

        expect(await peers.settled(outcome), `after ${turns} turns`).to.be.oneOf([
          'answer',
          'nothing',
        ])
        await Promise.all([client.close(), server.close()])
      }
    })

    it('ends a connection that does not end by itself after graceMs', async () => {
      const held = new HeldCalls()
      const theirs = secretsOf(OLD)
      const { link } = await peers.pair(held.handlers, {
        client: { secrets: secretsOf(OLD) },
        server: { secrets: theirs, limits: { ...TEST_LIMITS, graceMs: 50 } },
      })
      await peers.connect(link)
      const running = link.call(ask())
      await peers.world.until(() => held.requests.length === 1)

      theirs.replace([NEW])

      const failure = await peers.failure(running)
      expect(failure).to.include({ code: 'UNAVAILABLE', happened: 'unknown' })
      held.answerAll()
    })

    it('leaves the connections by one that is still accepted', async () => {
      const theirs = secretsOf(OLD)
      const { link } = await peers.pair(
        callHandler(async () => body('answer')),
        { client: { secrets: secretsOf(OLD) }, server: { secrets: theirs } },
      )
      await peers.connect(link)
      const changes = changesOf(link)

      theirs.replace([NEW, OLD])
      await peers.settled(link.call(ask()))

      expect(changes).to.deep.equal([])
    })
  })
}
