import path from 'node:path'
import type { Env } from '../../lib/env.ts'
import { messageOf } from '../../lib/errors.ts'
import { ConfigurationError, flag, integer, list } from '../../lib/options.ts'
import type { ConfigOf, OptionTable, OptionType } from '../../lib/options.ts'
import { MEDIA_SETTINGS_DEFAULT, type MediaSettings } from './media-settings.ts'
import { s3SettingsOf } from './s3-source.ts'

const MEGABYTE = 1000 * 1000
const DAY_MS = 86_400_000
/** Means any public host, and any bucket. */
const ANY = '*'
/** As hosts are compared: a name as in a URL, or `*.` before one for all names below it. */
const HOST = /^(\*|(\*\.)?[a-z0-9]([a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])$/i

/** The options of every node that reads media. */
export const MEDIA_OPTIONS = {
  mediaHosts: {
    variable: 'QUARRY_MEDIA_HOSTS',
    flag: '<hosts>',
    value: hosts(),
    defaultText: ANY,
    help: 'hosts from which media of documents and queries may be downloaded, separated by commas; *.example.org for all names below it; *: any public one',
  },
  mediaPrivate: {
    variable: 'QUARRY_MEDIA_PRIVATE',
    flag: '',
    value: flag(),
    help: 'the hosts of --media-hosts may have private addresses',
  },
  mediaDirs: {
    variable: 'QUARRY_MEDIA_DIRS',
    flag: '<dirs>',
    value: directories(),
    help: 'directories whose files may be read by file: URLs, separated by commas',
  },
  mediaBuckets: {
    variable: 'QUARRY_MEDIA_BUCKETS',
    flag: '<buckets>',
    value: list(),
    help: 'buckets that may be read by s3: URLs with the keys, region and endpoint of the AWS_ variables, separated by commas; *: all',
  },
  mediaBytesMax: {
    variable: 'QUARRY_MEDIA_BYTES_MAX',
    value: integer({ default: MEDIA_SETTINGS_DEFAULT.downloadBytesMax, min: 1 }),
    help: 'the most bytes of one file',
  },
  mediaTimeoutMs: {
    variable: 'QUARRY_MEDIA_TIMEOUT_MS',
    value: integer({ default: MEDIA_SETTINGS_DEFAULT.downloadTimeoutMs, min: 1, max: DAY_MS }),
    help: 'the time limit of a download',
  },
  mediaImagePixels: {
    variable: 'QUARRY_MEDIA_IMAGE_PIXELS',
    value: integer({
      default: MEDIA_SETTINGS_DEFAULT.imageEdgePixelsMax,
      min: 16,
      max: 8192,
    }),
    help: 'the longest edge of an image for a model; larger images are resized',
  },
  mediaMemoryBytes: {
    variable: 'QUARRY_MEDIA_MEMORY_BYTES',
    value: integer({ default: MEDIA_SETTINGS_DEFAULT.heldBytesMax, min: 64 * MEGABYTE }),
    help: 'the memory of all files together, until models have read them',
  },
} as const satisfies OptionTable

/** What the options and the environment say about media. Throws a ConfigurationError. */
export function mediaSettingsOf(config: ConfigOf<typeof MEDIA_OPTIONS>, env: Env): MediaSettings {
  const { mediaHosts } = config
  const allowedHosts = mediaHosts.includes(ANY) ? [] : mediaHosts.map(withoutBrackets)
  if (config.mediaPrivate && allowedHosts.length === 0) {
    throw new ConfigurationError([
      '--media-private is for the hosts that --media-hosts names: without them every client could read what only ' +
        'this machine reaches',
    ])
  }
  return {
    ...MEDIA_SETTINGS_DEFAULT,
    allowedHosts,
    blockPrivateIps: !config.mediaPrivate,
    allowedDirectories: config.mediaDirs,
    downloadBytesMax: config.mediaBytesMax,
    downloadTimeoutMs: config.mediaTimeoutMs,
    imageEdgePixelsMax: config.mediaImagePixels,
    heldBytesMax: config.mediaMemoryBytes,
    ...s3Of(config.mediaBuckets, env),
  }
}

/** As hosts of URLs are compared. */
function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}

function s3Of(buckets: readonly string[], env: Env): Pick<MediaSettings, 's3'> {
  if (buckets.length === 0) return {}
  try {
    return { s3: s3SettingsOf(env, buckets) }
  } catch (error) {
    throw new ConfigurationError([messageOf(error)])
  }
}

function hosts(): OptionType<readonly string[]> {
  return parsed('a list of hosts such as media.example or *.example, without http:', (host) =>
    HOST.test(host),
  )
}

function directories(): OptionType<readonly string[]> {
  return parsed('a list of absolute paths of directories', (directory) =>
    path.isAbsolute(directory),
  )
}

function parsed(
  expected: string,
  isValid: (part: string) => boolean,
): OptionType<readonly string[]> {
  const any = list()
  return {
    default: [],
    expected,
    parse: (given) => {
      const parts = any.parse(given) ?? []
      return parts.every(isValid) ? parts : undefined
    },
  }
}
