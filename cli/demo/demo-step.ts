// One step of the demo: a request, the same as a curl line, and the answer for people to read.

import { ServiceRefusal } from '../service/api-client.ts'
import type { ApiAnswer, ApiClient } from '../service/api-client.ts'
import { prettyJson } from '../render/json-text.ts'
import { cutText, printable, wrap } from '../render/text-width.ts'
import { paint, writeLine } from '../process/terminal.ts'
import type { Output } from '../process/terminal.ts'

const ANSWER_LINES_MAX = 16
const INDENT = '  '

export interface DemoRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: object
}

export interface DemoStep extends DemoRequest {
  readonly title: string
  /** One or two sentences on what to look at. */
  readonly text: string
  /** The answer that belongs to this step; another one is a defect. */
  readonly expectedStatus: number
  /** How the answer is shown; as JSON if absent. */
  readonly view?: (text: string, screen: Output) => readonly string[]
}

export interface DemoStage {
  readonly client: ApiClient
  readonly screen: Output
}

/** Runs the step and shows it. The answer goes back to the caller, for the steps that build on it. */
export async function showStep(step: DemoStep, { client, screen }: DemoStage): Promise<ApiAnswer> {
  await writeLine(screen)
  await writeLine(screen, `${paint(screen, 'cyan', '▸')} ${paint(screen, 'bold', step.title)}`)
  for (const line of wrap(step.text, screen.columns - INDENT.length)) {
    await writeLine(screen, INDENT + line)
  }
  await writeLine(screen)
  for (const line of curlLines(step, client.url, screen)) {
    await writeLine(screen, paint(screen, 'dim', INDENT + line))
  }
  const answer = await send(step, client)
  const version = answer.version === undefined ? '' : `  X-Service-Version: ${answer.version}`
  await writeLine(screen, `${INDENT}${paint(screen, 'green', String(answer.status))}${version}`)
  const lines = step.view?.(answer.text, screen) ?? answerLines(answer.text, screen)
  for (const line of lines) await writeLine(screen, INDENT + line)
  return answer
}

async function send(step: DemoStep, client: ApiClient): Promise<ApiAnswer> {
  const { method, path, body } = step
  try {
    return await client.request({
      method,
      path,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  } catch (error) {
    if (!(error instanceof ServiceRefusal) || error.status !== step.expectedStatus) throw error
    return { status: error.status, text: error.body, version: undefined }
  }
}

/** The request for a shell. The body stands on lines of its own where it would not fit. */
export function curlLines(
  { method, path, body }: DemoRequest,
  url: string,
  { columns }: { readonly columns: number },
): string[] {
  const address = `${url}/api/v1${path}`
  const quoted = /[?&'*]/.test(address) ? `'${address}'` : address
  if (body === undefined) return [`curl ${method === 'GET' ? '' : `-X ${method} `}${quoted}`]
  // The body is quoted for the shell as it is: no text of the demo holds a single quote.
  const data = prettyJson(JSON.stringify(body), {
    columns: columns - 2 * INDENT.length,
    color: false,
  })
  const lines = `-d '${data}'`.split('\n').map((line) => INDENT + line)
  return [`curl ${quoted} \\`, `${INDENT}-H 'content-type: application/json' \\`, ...lines]
}

function answerLines(text: string, screen: Output): string[] {
  const width = screen.columns - INDENT.length
  const values = text.trimEnd().split('\n')
  // Several values are lines of a scan: one document a line. One value is shown indented.
  if (values.length > 1) return values.map((line) => cutText(printable(line), width))
  const lines = prettyJson(text, { columns: width, color: screen.color }).split('\n')
  const shown = lines.slice(0, ANSWER_LINES_MAX)
  const more = lines.length - shown.length
  return more > 0 ? [...shown, paint(screen, 'dim', `… ${more} more lines`)] : shown
}
