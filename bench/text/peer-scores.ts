// Whether our hits are Lucene's: engines with different answers cannot be compared.

import { K1 } from '../../node/index/text/matching/bm25.ts'

/** Our average length is that of quantised lengths, Lucene's is exact: scores differ by less than this. */
const TOLERANCE = 0.03
const CHECKED_MAX = 60
/** Lucene 9 leaves the factor `k1 + 1` out, which is the same for all documents. */
const FACTOR = K1 + 1

/** One hit. The scores of ours have Lucene's older factor `k1 + 1`. */
export interface Hit {
  readonly id: string
  readonly score: number
}

/** As both sides send it. */
interface SentHit {
  readonly _id: string
  readonly _score: number
}

interface CheckedServer {
  readonly name: string
  readonly origin: string
}

/** Throws for a rank whose score differs, and for a document whose score does. */
export async function checkScores(
  servers: readonly CheckedServer[],
  path: string,
  bodies: readonly string[],
): Promise<void> {
  const ours = servers.find(({ name }) => name === 'quarry')
  const lucene = servers.find(({ name }) => name === 'Lucene 9.12')
  if (ours === undefined || lucene === undefined) return
  const step = Math.ceil(bodies.length / CHECKED_MAX)
  for (let i = 0; i < bodies.length; i += step) {
    const body = bodies[i] ?? ''
    const found = await hitsOf(`${ours.origin}${path}`, body)
    const expected = await hitsOf(`${lucene.origin}${path}`, body)
    const difference = differenceOf(found, expected)
    if (difference !== undefined) throw new Error(`${body} is answered otherwise: ${difference}`)
  }
}

async function hitsOf(url: string, body: string): Promise<readonly Hit[]> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url}: status ${response.status}: ${text}`)
  const answer = JSON.parse(text)
  const sent: readonly SentHit[] = Array.isArray(answer) ? answer : answer.responses[0].hits.hits
  return sent.map(({ _id: id, _score: score }) => ({ id, score }))
}

/** What differs, in words; undefined if the hits are the same but for documents whose scores are as good as equal. */
export function differenceOf(found: readonly Hit[], expected: readonly Hit[]): string | undefined {
  if (found.length !== expected.length) return `${found.length} hits, ${expected.length} of Lucene`
  const byId = new Map(expected.map(({ id, score }) => [id, score]))
  for (const [rank, hit] of found.entries()) {
    const ours = hit.score / FACTOR
    const sameRank = expected[rank]?.score ?? 0
    if (differs(ours, sameRank)) return `rank ${rank} scores ${ours}, Lucene's ${sameRank}`
    const theirs = byId.get(hit.id)
    const isOther = theirs !== undefined && differs(ours, theirs)
    if (isOther) return `${hit.id} scores ${ours}, Lucene's ${theirs}`
  }
  return undefined
}

function differs(ours: number, theirs: number): boolean {
  return Math.abs(ours - theirs) > TOLERANCE * theirs
}
