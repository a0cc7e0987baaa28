{{- define "remediator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "remediator.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "remediator.fullname" .) .Values.serviceAccount.name }}{{ else }}{{ default "default" .Values.serviceAccount.name }}{{ end -}}
{{- end -}}

{{/* Argument: dict "root" $ "component" NAME. */}}
{{- define "remediator.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "remediator.labels" -}}
{{ include "remediator.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Argument: dict "root" $ "image" VALUES. */}}
{{- define "remediator.image" -}}
{{- if .image.digest }}{{ .image.repository }}@{{ .image.digest }}{{ else }}{{ .image.repository }}:{{ default .root.Chart.AppVersion .image.tag }}{{ end -}}
{{- end -}}

{{- define "remediator.webhookUrl" -}}
{{ ternary "https" "http" (ne .Values.tls.secretName "") }}://{{ include "remediator.fullname" . }}.{{ .Release.Namespace }}.svc:{{ .Values.service.port }}/api/v1/alerts
{{- end -}}

{{/* Where the secret with the addresses of notification targets is mounted. */}}
{{- define "remediator.notifyPath" -}}/etc/remediator/notify{{- end -}}

{{- define "remediator.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "remediator.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end -}}
