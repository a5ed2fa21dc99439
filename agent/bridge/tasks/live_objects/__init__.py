"""What a person does with one live object of an application: actions, an edit, its deletion.

The object must be in the tree of its application, and project and the owner's policy must permit
the application to write it. Each change can be previewed by the task `object-preview`.
"""
