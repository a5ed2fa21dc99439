{{- /* The verbs that the agent uses: apply is patch and, of what is not there yet, create;
       update is for Replace=true, delete for prune. */ -}}
{{- define "house.read" -}}[get, list, watch]{{- end }}
{{- define "house.write" -}}
{{ if .Values.destinations.write }}[get, list, watch, create, update, patch, delete]{{ else }}{{ include "house.read" . }}{{ end }}
{{- end }}
{{- define "house.destination-rules" -}}
{{- range include "house.managed-kinds" . | fromYamlArray }}
- apiGroups: {{ toJson .apiGroups }}
  resources: {{ toJson .resources }}
  verbs: {{ include "house.write" $ }}
{{- end }}
{{- range .Values.observed }}
- apiGroups: {{ toJson .apiGroups }}
  resources: {{ toJson .resources }}
  verbs: {{ include "house.read" $ }}
{{- end }}
{{- if .Values.link.url }}
- apiGroups: [""]
  resources: [events]
  verbs: [get, list, watch]
{{- if .Values.link.logs }}
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
{{- end }}
{{- end }}
{{- end }}
{{- /* The Secrets that the agent makes for itself. */ -}}
{{- define "house.own-secrets" -}}
[gitops-agent-keys
{{- if include "house.own-nats" . }}, {{ include "house.nats-logins" . }}, {{ include "house.nats-logins" . }}-subscriber{{ end }}
{{- if include "house.own-redis" . }}, {{ include "house.redis-password" . }}{{ end }}
{{- if .Values.link.url }}, gitops-agent-link{{ end }}]
{{- end }}
