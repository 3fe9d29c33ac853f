/** The protocols other than ours, as they are named in metrics. */
export type SourceName = 'openwisp' | 'influx' | 'teltonika' | 'otlp'
