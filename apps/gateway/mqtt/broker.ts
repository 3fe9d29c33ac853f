import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import mqtt, { type IClientOptions, type IPublishPacket, type MqttClient } from 'mqtt'
import { resolvesWithin } from '#core/schedule'
import type { Logger } from '#http/request-log'
import type { GatewayConfig } from '../config.ts'
import { createMessageWindow, type MessageWindow } from './message-window.ts'

export type Message = {
  topic: string
  payload: Buffer
  /** The broker has delivered it before. */
  isRepeated: boolean
  /** The broker has kept it from an earlier time, for new subscribers. */
  isRetained: boolean
  responseTopic: string | undefined
  correlationData: Buffer | undefined
}

/** Handles a message. Resolves with the reason code of its acknowledgement; undefined: the broker must deliver it again. */
type MessageHandler = (message: Message, signal: AbortSignal) => Promise<number | undefined>

export type Broker = {
  /** Publishes with QoS 1 unless told otherwise. Resolves when the broker has the message, or when the connection is lost. */
  publish(topic: string, payload: string, correlationData?: Buffer, qos?: 0 | 1): Promise<void>
  /** Whether it is connected and sends the messages of at least one topic. */
  isReceiving(): boolean
  window: Pick<MessageWindow, 'messages' | 'bytes'>
  close(): Promise<void>
}

type Parts = {
  config: GatewayConfig
  filters: readonly string[]
  handle: MessageHandler
  onConnect: () => void
  logger: Logger
}

const mebibyte = 1024 * 1024
/** Larger messages cannot be reports. */
const maxPacketBytes = mebibyte + 64 * 1024
/** With larger messages, fewer are in memory than the receive maximum. */
export const maxWaitingBytes = 64 * mebibyte
/** How long the broker keeps messages for a gateway that is away. */
const sessionSeconds = 7 * 24 * 60 * 60
const reconnectMs = 1_000
const connectLimitMs = 10_000
const keepaliveSeconds = 30
/** How long a stop waits for messages that the service has not answered. The broker delivers the others again. */
const drainLimitMs = 5_000
const disconnectLimitMs = 2_000
/** Reason codes from here on say that a subscription was refused. */
const noGrant = 0x80

/** Connects to the broker, now and after each loss, and handles the messages of the subscribed topics. */
export function connectBroker({ config, filters, handle, onConnect, logger }: Parts): Broker {
  const window = createMessageWindow({ messages: config.MQTT_RECEIVE_MAXIMUM, bytes: maxWaitingBytes })
  const client = mqtt.connect(config.MQTT_URL ?? '', optionsOf(config))
  let connection = new AbortController()
  let isClosing = false
  let isSubscribed = false

  client.on('connect', () => {
    onConnect()
    logger.info({}, 'broker_connected')
    // Of MQTT 5: no retained messages, which would be reported again after each loss.
    const options = { qos: 1 as const, ...(config.MQTT_VERSION === 5 && { rh: 2 }) }
    client.subscribe(Object.fromEntries(filters.map((filter) => [filter, options])), (error, _, answer) => {
      const isGranted = (index: number) => Number(answer?.granted[index] ?? noGrant) < noGrant
      const refused = filters.filter((_filter, index) => !isGranted(index))
      // A broker can be set up for some of the topics only.
      isSubscribed = refused.length < filters.length
      if (refused.length > 0) logger.error({ topics: refused, reason: error?.message }, 'subscription_refused')
    })
  })
  // The broker delivers again what was not acknowledged. Messages can arrive before the next event `connect`.
  client.on('close', () => {
    isSubscribed = false
    connection.abort()
    connection = new AbortController()
  })
  client.on('offline', () => logger.warn({}, 'broker_lost'))
  client.on('error', (error) => logger.warn({ code: 'code' in error ? error.code : undefined }, 'broker_failed'))

  const takes = () => !isClosing
  handleConcurrently(client, window, takes, (packet) => {
    const { signal } = connection
    return handle(messageOf(packet), signal).then((code) => (signal.aborted ? undefined : code))
  })

  return {
    async publish(topic, payload, correlationData, qos = 1) {
      const properties = correlationData && config.MQTT_VERSION === 5 ? { properties: { correlationData } } : {}
      await client.publishAsync(topic, payload, { qos, ...properties }).catch(() => {})
    },
    isReceiving: () => client.connected && isSubscribed,
    window,
    async close() {
      isClosing = true
      await resolvesWithin(window.whenEmpty(), drainLimitMs)
      connection.abort()
      await resolvesWithin(
        client.endAsync().catch(() => {}),
        disconnectLimitMs,
      )
    },
  }
}

/**
 * Lets many messages wait for the service at a time. The client reads the next packet and acknowledges this one when
 * `handleMessage` calls back; with an error it does not acknowledge. The acknowledgement is sent here, when the service has
 * the message. While the window is full, and once `takes` returns false, the client reads nothing.
 */
function handleConcurrently(
  client: MqttClient,
  window: MessageWindow,
  takes: () => boolean,
  handle: (packet: IPublishPacket) => Promise<number | undefined>,
): void {
  const later = new Error('acknowledged later')
  client.handleMessage = (packet, proceed) => {
    if (!takes()) return
    const bytes = packet.payload.length
    window.enter(bytes)
    const { messageId } = packet
    void handle(packet).then((reasonCode) => {
      window.leave(bytes)
      if (packet.qos === 0 || reasonCode === undefined || messageId === undefined) return
      // biome-ignore lint/complexity/useLiteralKeys: a private function; see docs/decisions/0060-a-gateway-without-storage.md.
      client['_sendPacket']({ cmd: 'puback', messageId, reasonCode })
    })
    window.whenOpen(() => (packet.qos === 0 ? proceed() : proceed(later)))
  }
}

const messageOf = ({ topic, payload, dup, retain, properties }: IPublishPacket): Message => ({
  topic,
  payload: Buffer.isBuffer(payload) ? payload : Buffer.from(payload),
  isRepeated: dup,
  isRetained: retain,
  responseTopic: properties?.responseTopic,
  correlationData: properties?.correlationData,
})

function optionsOf(config: GatewayConfig): IClientOptions {
  const { MQTT_VERSION: version, MQTT_PASSWORD: password, MQTT_USERNAME: username } = config
  const file = (path: string | undefined) => (path === undefined ? undefined : readFileSync(path))
  return {
    protocolVersion: version === 5 ? 5 : 4,
    clientId: config.MQTT_CLIENT_ID ?? `routerfleet-gateway-${hostname()}`,
    clean: false,
    keepalive: keepaliveSeconds,
    reconnectPeriod: reconnectMs,
    // A broker that refuses the connection can accept it later, for example when its list of users is back.
    reconnectOnConnackError: true,
    connectTimeout: connectLimitMs,
    // Subscribed again with each connection, because a broker can lose sessions.
    resubscribe: false,
    queueQoSZero: false,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password: password.reveal() }),
    ...withoutUndefined({
      ca: file(config.MQTT_CA_FILE),
      cert: file(config.MQTT_CERT_FILE),
      key: file(config.MQTT_KEY_FILE),
    }),
    ...(version === 5 && {
      properties: {
        receiveMaximum: config.MQTT_RECEIVE_MAXIMUM,
        sessionExpiryInterval: sessionSeconds,
        maximumPacketSize: maxPacketBytes,
      },
    }),
  }
}

const withoutUndefined = <Value>(values: Record<string, Value | undefined>): Record<string, Value> =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, Value] => entry[1] !== undefined))
