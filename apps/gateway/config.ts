import { z } from 'zod'
import { Secret } from '#core/secret'
import { parseToken } from '#core/tokens'
import { normalizeIdentity } from '#device-edge/gateway'
import { parseTopicRule } from './mqtt/topic-rules.ts'

const secret = () => z.string().transform((text) => new Secret(text))
const entries = (text: string) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')

/** `pattern=protocol`, separated by commas. */
const topics = z.string().transform((text, context) =>
  entries(text).flatMap((entry) => {
    const rule = parseTopicRule(entry)
    if (rule) return [rule]
    context.addIssue({ code: 'custom', message: `"${entry}" must be like fleet/{imei}/data=teltonika` })
    return []
  }),
)

/** `address=serial:SN-1`, separated by commas. */
const sources = z.string().transform((text, context) => {
  const known = new Map<string, NonNullable<ReturnType<typeof normalizeIdentity>>>()
  for (const entry of entries(text)) {
    const [address = '', device = ''] = entry.split('=', 2)
    const [kind = '', ...value] = device.split(':')
    const isKind = kind === 'serial' || kind === 'imei' || kind === 'mac'
    const identity = isKind ? normalizeIdentity(kind, value.join(':')) : undefined
    if (address !== '' && identity) known.set(address, identity)
    else context.addIssue({ code: 'custom', message: `"${entry}" must be like 10.0.0.5=serial:SN-1` })
  }
  return known
})

/** The environment variables of the gateway. */
export const configSchema = z
  .object({
    HOST: z.string().default('127.0.0.1'),
    PORT: z.coerce.number().int().min(0).max(65_535).default(8084),
    /** The base address of the service, or of one ingest process. */
    SERVICE_URL: z.url().default('http://127.0.0.1:8080'),
    /** An enrollment key with `allowGateway`. It determines the organization whose devices may report. */
    GATEWAY_KEY: z
      .string()
      .refine((text) => parseToken(text)?.prefix === 'fle', 'must be an enrollment key, fle_…')
      .transform((text) => new Secret(text)),
    /** The broker: mqtt://, mqtts://, ws:// or wss://. */
    MQTT_URL: z.url({ protocol: /^(mqtts?|wss?)$/ }).optional(),
    MQTT_USERNAME: z.string().optional(),
    MQTT_PASSWORD: secret().optional(),
    /** The certificate authorities of the broker. Default: those of the system. */
    MQTT_CA_FILE: z.string().optional(),
    /** The certificate and the key of the gateway, in PEM. */
    MQTT_CERT_FILE: z.string().optional(),
    MQTT_KEY_FILE: z.string().optional(),
    /** 5, or 4 for a broker of MQTT 3.1.1. */
    MQTT_VERSION: z.enum(['4', '5']).default('5').transform(Number),
    /** Identifies the session, in which the broker keeps messages while the gateway is away. Each gateway needs its own. */
    MQTT_CLIENT_ID: z.string().min(1).max(200).optional(),
    /** Replicas with the same group share the messages. */
    MQTT_SHARED_GROUP: z
      .string()
      .regex(/^[^/+#]+$/, 'must not contain /, + or #')
      .optional(),
    /** Messages that the broker may deliver before it receives an acknowledgement. */
    MQTT_RECEIVE_MAXIMUM: z.coerce.number().int().min(1).max(65_535).default(1_000),
    /** Further topics of telemetry. */
    MQTT_TOPICS: topics.optional(),
    /** The TCP port for NMEA, gpsd and Cradlepoint. */
    NMEA_PORT: z.coerce.number().int().min(0).max(65_535).optional(),
    NMEA_HOST: z.string().default('127.0.0.1'),
    NMEA_MAX_CONNECTIONS: z.coerce.number().int().min(1).max(100_000).default(2_000),
    /** Devices by the address from which they connect. */
    NMEA_SOURCES: sources.optional(),
    LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).default('info'),
  })
  .refine(({ MQTT_URL, NMEA_PORT }) => MQTT_URL !== undefined || NMEA_PORT !== undefined, {
    path: ['MQTT_URL'],
    message: 'set it, or NMEA_PORT, or both',
  })
  .refine(({ MQTT_CERT_FILE, MQTT_KEY_FILE }) => (MQTT_CERT_FILE === undefined) === (MQTT_KEY_FILE === undefined), {
    path: ['MQTT_CERT_FILE'],
    message: 'set it together with MQTT_KEY_FILE',
  })

export type Config = z.infer<typeof configSchema>
