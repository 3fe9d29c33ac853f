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
    SERVICE_URL: z
      .url()
      .default('http://127.0.0.1:8080')
      .meta({ description: 'The address of the service, or of one ingest process.', setByStart: true }),
    GATEWAY_KEY: z
      .string()
      .refine((text) => parseToken(text)?.prefix === 'fle', 'must be an enrollment key, fle_…')
      .transform((text) => new Secret(text))
      .describe(
        'An enrollment key with `allowGateway`. It determines the organization whose devices may report. `npm start` starts the [gateway](gateway.md) if it is set together with `MQTT_URL` or `NMEA_PORT`.',
      ),
    MQTT_URL: z
      .url({ protocol: /^(mqtts?|wss?)$/ })
      .optional()
      .describe('The broker: `mqtt://`, `mqtts://`, `ws://` or `wss://`. Default: no MQTT.'),
    MQTT_USERNAME: z.string().optional().describe('The user name at the broker. Default: none.'),
    MQTT_PASSWORD: secret().optional().describe('The password at the broker. Default: none.'),
    MQTT_CA_FILE: z
      .string()
      .optional()
      .describe('The certificate authorities of the broker, in PEM. Default: those of the system.'),
    MQTT_CERT_FILE: z
      .string()
      .optional()
      .describe('The certificate of the gateway, in PEM. Set it together with `MQTT_KEY_FILE`. Default: none.'),
    MQTT_KEY_FILE: z.string().optional().describe('The key of that certificate, in PEM.'),
    MQTT_VERSION: z.enum(['4', '5']).default('5').transform(Number).describe('`5`, or `4` for a broker of MQTT 3.1.1.'),
    MQTT_CLIENT_ID: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe(
        'Identifies the session, in which the broker keeps messages while the gateway is away. Each gateway needs its own. Default: `routerfleet-gateway-` and the host name.',
      ),
    MQTT_SHARED_GROUP: z
      .string()
      .regex(/^[^/+#]+$/, 'must not contain /, + or #')
      .optional()
      .describe('Replicas with the same group share the messages. Default: none.'),
    MQTT_RECEIVE_MAXIMUM: z.coerce
      .number()
      .int()
      .min(1)
      .max(65_535)
      .default(1_000)
      .describe('The messages that the broker may deliver before it receives an acknowledgement.'),
    MQTT_TOPICS: topics
      .optional()
      .describe('Further topics of telemetry, such as `fleet/{imei}/data=teltonika`. Default: none.'),
    NMEA_PORT: z.coerce
      .number()
      .int()
      .min(0)
      .max(65_535)
      .optional()
      .describe('The TCP port for NMEA, gpsd and Cradlepoint. Default: no TCP.'),
    NMEA_HOST: z.string().default('127.0.0.1').describe('The address on which that port listens.'),
    NMEA_MAX_CONNECTIONS: z.coerce
      .number()
      .int()
      .min(1)
      .max(100_000)
      .default(2_000)
      .describe('The most connections on that port.'),
    NMEA_SOURCES: sources
      .optional()
      .describe('Devices by the address from which they connect, such as `10.0.0.5=serial:SN-1`. Default: none.'),
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

export type GatewayConfig = z.infer<typeof configSchema>
