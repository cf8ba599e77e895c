// The rule of slices where hundreds of requests to other hosts begin at once, and none of the answers ends.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import { DOWNLOAD_LIMITS_DEFAULT } from '../../lib/media/download-limits.ts'
import { MediaDownloader } from '../../lib/media/media-downloader.ts'
import { ProviderHttp } from '../../node/providers/http/provider-http.ts'
import { countTo } from '../support/loads/load.ts'
import { EndlessServer } from '../support/servers/endless-server.ts'
import { longestTurnAtBestMs } from '../support/slices/turn-watch.ts'

const STARTS = 800
/** All at once take a turn of 50 to 70 ms; those that share the turns 14 to 24 ms, which is parsing and checking 800 URLs. */
const TURN_MS_MAX = 35
/** Providers have 32 connections to one host. */
const STARTS_PER_HOST = 32
const BYTES_MAX = 1024 * 1024

type Begin = (url: string, signal: AbortSignal) => Promise<unknown>

const clock = systemClock
const limits = { ...DOWNLOAD_LIMITS_DEFAULT, blockPrivateIps: false, downloadBytesMax: BYTES_MAX }
const memory = { add: () => undefined, release: () => undefined }

/** By what begins. The names are resolved without waiting, so that all start in one turn. */
const WORLDS: Readonly<Record<string, () => Begin>> = {
  'downloads of media': () => {
    const downloader = new MediaDownloader({ clock, limits })
    return (url, signal) => downloader.download(url, { signal, memory, accept: '*/*' })
  },
  'calls of providers': () => {
    const http = new ProviderHttp({ clock, isPublic: () => true, env: {} })
    const ask = { headers: {}, body: '{}', addresses: 'any', timeoutMs: 60_000 } as const
    return (url, signal) => http.ask({ ...ask, url, signal, answerBytesMax: BYTES_MAX })
  },
}

describe('the rule of slices where hundreds of requests begin at once', () => {
  for (const [what, open] of Object.entries(WORLDS)) {
    it(`holds for ${what} without end`, async () => {
      await using server = await EndlessServer.start()
      const ends: Promise<unknown>[] = []
      const stops: AbortController[] = []

      const longestMs = await longestTurnAtBestMs(async () => {
        const begin = open()
        const before = server.begunCount
        const stop = new AbortController()
        stops.push(stop)
        for (const n of countTo(STARTS)) {
          ends.push(begin(urlOf(server, n), stop.signal).catch(() => undefined))
        }
        while (server.begunCount < before + STARTS) await nextTurn()
      }, TURN_MS_MAX)

      for (const stop of stops) stop.abort()
      await Promise.all(ends)
      expect(longestMs).to.be.below(TURN_MS_MAX)
    })
  }
})

function urlOf({ port }: EndlessServer, n: number): string {
  return `http://127.0.0.${1 + Math.floor(n / STARTS_PER_HOST)}:${port}/`
}
