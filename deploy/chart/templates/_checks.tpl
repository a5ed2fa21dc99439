{{- /* What a schema cannot say in words: values that do not go together. */ -}}
{{- define "house.checks" -}}
{{- if and (eq .Values.destinations.scope "namespaces") (not .Values.destinations.namespaces) }}
{{- fail "destinations.scope is \"namespaces\": expected at least one name in destinations.namespaces" }}
{{- end }}
{{- if and (eq .Values.destinations.scope "cluster") .Values.destinations.namespaces }}
{{- fail "destinations.namespaces is given: expected destinations.scope \"namespaces\", else the agent may write in every namespace" }}
{{- end }}
{{- if and (not .Values.nats.url) (or .Values.nats.credentialsSecret .Values.nats.caSecret) }}
{{- fail "nats.credentialsSecret and nats.caSecret are for a NATS of your own: expected nats.url" }}
{{- end }}
{{- if and .Values.nats.url .Values.nats.tlsSecret }}
{{- fail "nats.tlsSecret is for the NATS that the chart runs: expected no nats.url" }}
{{- end }}
{{- if and .Values.redis.url .Values.redis.urlSecret }}
{{- fail "redis.url and redis.urlSecret are both given: expected one of them" }}
{{- end }}
{{- end }}
