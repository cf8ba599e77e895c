// Options of origins and URLs, as people give them to a server.

import type { OptionType } from '../options.ts'

/** Separated by commas: `*`, or origins as browsers send them (`http://localhost:3000`). */
export function origins(): OptionType<readonly string[]> {
  return listOf((text) => text === '*' || URL.parse(text)?.origin === text.toLowerCase(), {
    expected: 'a list of origins such as http://localhost:3000, or *',
  })
}

/** Separated by commas: URLs of http or https, without anything behind host and port. */
export function serverUrls(): OptionType<readonly string[]> {
  return listOf((text) => /^https?:\/\/[^/]+\/?$/i.test(text) && URL.canParse(text), {
    expected: 'a list of URLs such as https://quarry.example.com',
  })
}

function listOf(
  isRight: (text: string) => boolean,
  { expected }: { readonly expected: string },
): OptionType<readonly string[]> {
  return {
    default: [],
    expected,
    parse: (given) => {
      const parts = given.split(',').map((part) => part.trim())
      const known = parts.filter((part) => part !== '')
      return known.every(isRight) ? known : undefined
    },
  }
}
