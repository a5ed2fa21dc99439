{{- /* What a schema cannot say in words: values that do not go together. */ -}}
{{- define "plumbline.checks" -}}
{{- if and (eq .Values.destinations.scope "namespaces") (not .Values.destinations.namespaces) }}
{{- fail "destinations.scope is \"namespaces\": expected at least one name in destinations.namespaces" }}
{{- end }}
{{- if and (eq .Values.destinations.scope "cluster") .Values.destinations.namespaces }}
{{- fail "destinations.namespaces is given: expected destinations.scope \"namespaces\", else the agent may write in every namespace" }}
{{- end }}
{{- if and (eq .Values.rights.profile "cluster") (ne .Values.destinations.scope "cluster") }}
{{- fail "rights.profile is \"cluster\": expected destinations.scope \"cluster\", a Role of a namespace grants nothing outside of it" }}
{{- end }}
{{- if and (eq .Values.rights.profile "kinds") (not .Values.rights.kinds) }}
{{- fail "rights.profile is \"kinds\": expected at least one kind in rights.kinds" }}
{{- end }}
{{- if and (eq .Values.rights.profile "kinds") .Values.rights.roles }}
{{- fail "rights.roles is for the profile \"namespaced\": name roles and rolebindings in rights.kinds" }}
{{- end }}
{{- if and (not .Values.nats.url) (or .Values.nats.credentialsSecret .Values.nats.caSecret) }}
{{- fail "nats.credentialsSecret and nats.caSecret are for a NATS of your own: expected nats.url" }}
{{- end }}
{{- if and .Values.nats.url .Values.nats.tlsSecret }}
{{- fail "nats.tlsSecret is for the NATS that the chart runs: expected no nats.url" }}
{{- end }}
{{- if and .Values.agent.divideShards .Values.link.url }}
{{- fail "agent.divideShards is true: expected no link.url, because an agent with a link reports all Applications from one process; its further replicas stand by" }}
{{- end }}
{{- if and .Values.redis.url .Values.redis.urlSecret }}
{{- fail "redis.url and redis.urlSecret are both given: expected one of them" }}
{{- end }}
{{- end }}
