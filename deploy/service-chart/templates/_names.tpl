{{- define "service.labels" -}}
app.kubernetes.io/name: gitops-service
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}
{{- define "service.selector" -}}
app.kubernetes.io/name: gitops-service
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- /* Of both containers: the image, and that it may do nothing. */ -}}
{{- define "service.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources: {{- toYaml .Values.resources | nindent 2 }}
{{- end }}
{{- define "service.database" -}}
- {name: GITOPS_SERVICE_DATABASE_URL, valueFrom: {secretKeyRef: {name: {{ .Values.database.urlSecret | quote }}, key: url}}}
- {name: GITOPS_SERVICE_KEY_FILE, value: /etc/gitops/key/service.key}
{{- end }}
{{- /* Of the collector of traces, where it is none that is let out anyway. */ -}}
{{- define "service.collector-port" -}}
{{- $url := urlParse .Values.traces.endpoint }}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (eq $url.scheme "http" | ternary "80" "") }}
{{- if and $port (not (has $port (list "443" "5432"))) }}, {port: {{ $port }}}{{ end }}
{{- end }}
